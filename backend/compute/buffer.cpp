#include "backend/compute/buffer.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

namespace dlscale::backend {

namespace {

constexpr std::size_t alignment = 64;  // a cache line, and the widest vector of x86-64

void free_aligned(std::byte* p) noexcept {
  std::free(p);
}

}  // namespace

Buffer allocate_host(std::size_t bytes) {
  if (bytes == 0) return {};
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(alignment, rounded));
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0, rounded);
  return Buffer(memory, FreeBuffer{free_aligned});
}

}  // namespace dlscale::backend
