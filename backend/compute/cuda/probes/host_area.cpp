#include "backend/compute/cuda/probes/host_area.hpp"

#include <cuda_runtime_api.h>

#include <cstring>
#include <new>

#include "backend/compute/cuda/runtime/call.hpp"

namespace dlscale::backend::cuda {
namespace {

constexpr std::align_val_t page{4096};

std::byte* pageable(std::size_t bytes) {
  return static_cast<std::byte*>(::operator new(bytes, page));
}

std::byte* pinned(std::size_t bytes) {
  void* data = nullptr;
  check_pinned(cudaMallocHost(&data, bytes), "cudaMallocHost", bytes);
  return static_cast<std::byte*>(data);
}

}  // namespace

void HostArea::Release::operator()(std::byte* data) const noexcept {
  if (kind == HostMemory::pinned) {
    static_cast<void>(cudaFreeHost(data));
    return;
  }
  if (kind == HostMemory::registered) static_cast<void>(cudaHostUnregister(data));
  ::operator delete(data, page);
}

HostArea::HostArea(HostMemory kind, std::size_t bytes)
    : bytes_(bytes),
      data_(kind == HostMemory::pinned ? pinned(bytes) : pageable(bytes),
            Release{kind == HostMemory::registered ? HostMemory::pageable : kind}) {
  std::memset(data_.get(), 0, bytes);
  if (kind != HostMemory::registered) return;
  check_pinned(cudaHostRegister(data_.get(), bytes, cudaHostRegisterDefault), "cudaHostRegister",
               bytes);
  data_.get_deleter().kind = kind;  // from here on destruction must free it
}

}  // namespace dlscale::backend::cuda
