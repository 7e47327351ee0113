#include "backend/compute/compute.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "backend/compute/specification.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

constexpr std::size_t alignment = 64;  // a cache line, and the widest vector of x86-64

void free_aligned(std::byte* p) noexcept {
  std::free(p);
}

}  // namespace

TensorDesc ComputeDevice::arranged(Dims dims, DType dtype, LayoutKind kind) const {
  if (kind == LayoutKind::nchw) return plain(dims, dtype);
  throw Unsupported(
      fmt::format("{} keeps activations in nchw only, not in {}", name(), layout_kind_name(kind)));
}

std::unique_ptr<MatrixProduct> ComputeDevice::matrix_product(const GemmShape& /*shape*/,
                                                             DType /*dtype*/) {
  throw Unsupported(fmt::format("{} offers no matrix product apart from layers.", name()));
}

void ComputeDevice::normalise(const std::byte* /*pictures*/,
                              const PictureStatistics& /*statistics*/, const Tensor& /*to*/) {
  throw Unsupported(fmt::format(
      "{} computes in host memory, where the loader threads normalise pictures.", name()));
}

Buffer allocate_host(std::size_t bytes) {
  if (bytes == 0) return {};
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(alignment, rounded));
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0, rounded);
  return Buffer(memory, FreeBuffer{free_aligned});
}

}  // namespace dlscale::backend
