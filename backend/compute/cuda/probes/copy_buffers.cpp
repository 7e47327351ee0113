#include "backend/compute/cuda/probes/copy_buffers.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "backend/compute/cuda/probes/cycle.hpp"
#include "backend/compute/cuda/probes/probe_context.hpp"
#include "backend/compute/cuda/runtime/call.hpp"
#include "core/base/error.hpp"

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

cudaMemcpyKind kind_of(Direction direction) {
  switch (direction) {
    case Direction::host_to_device:
      return cudaMemcpyHostToDevice;
    case Direction::device_to_host:
      return cudaMemcpyDeviceToHost;
    case Direction::within_device:
      return cudaMemcpyDeviceToDevice;
  }
  fail_expectation("direction is a Direction");
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

CopyBuffers::CopyBuffers(const CopySpec& spec, std::uint64_t seed)
    : direction_(spec.direction),
      bytes_(spec.bytes),
      seed_(seed),
      device_(spec.bytes),
      other_device_(spec.direction == Direction::within_device ? spec.bytes : 0) {
  if (direction_ != Direction::within_device) host_.emplace(spec.memory, spec.bytes);
  prepare();
}

std::byte* CopyBuffers::from() const {
  return direction_ == Direction::host_to_device ? host_->bytes().data() : device_.get();
}

std::byte* CopyBuffers::to() const {
  if (direction_ == Direction::within_device) return other_device_.get();
  return direction_ == Direction::host_to_device ? device_.get() : host_->bytes().data();
}

void CopyBuffers::prepare() {
  std::vector<std::byte> pattern(bytes_);
  if (direction_ == Direction::host_to_device) {
    fill_pattern(host_->bytes(), seed_);
    upload(pattern, device_.get());
    return;
  }
  if (host_) {
    std::fill(host_->bytes().begin(), host_->bytes().end(), std::byte{0});
  } else {
    upload(pattern, other_device_.get());
  }
  fill_pattern(pattern, seed_);
  upload(pattern, device_.get());
}

std::size_t CopyBuffers::wrong_bytes() const {
  if (direction_ == Direction::device_to_host) return cuda::wrong_bytes(host_->bytes(), seed_);
  std::vector<std::byte> arrived(bytes_);
  download(to(), arrived);
  return cuda::wrong_bytes(arrived, seed_);
}

void CopyBuffers::go(cudaStream_t stream) const {
  check(cudaMemcpyAsync(to(), from(), bytes_, kind_of(direction_), stream), "cudaMemcpyAsync",
        [this] { return fmt::format("a copy of {} bytes", bytes_); });
}

}  // namespace dlscale::backend::cuda
