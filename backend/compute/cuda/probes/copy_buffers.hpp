#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "backend/compute/cuda/runtime/handles.hpp"
#include "backend/compute/device_probes.hpp"

namespace dlscale::backend::cuda {

/// Host memory of one of the kinds from and to which a device copies. Its pages are resident.
class HostArea {
 public:
  /// Throws the errors of check(), and std::bad_alloc.
  HostArea(HostMemory kind, std::size_t bytes);
  [[nodiscard]] std::span<std::byte> bytes() const { return {data_.get(), bytes_}; }

 private:
  struct Release {
    HostMemory kind;
    void operator()(std::byte* data) const noexcept;
  };
  std::size_t bytes_;
  std::unique_ptr<std::byte[], Release> data_;
};

/// Memory at both ends of a copy in one direction, with a pattern at the source.
class CopyBuffers {
 public:
  CopyBuffers(const CopySpec& spec, std::uint64_t seed);
  /// Writes the pattern to the source and zeros to the target.
  void prepare();
  /// Number of bytes at the target that differ from the pattern.
  [[nodiscard]] std::size_t wrong_bytes() const;
  /// Enqueues the copy; with pageable memory it may return only when the copy is done.
  void go(cudaStream_t stream) const;

 private:
  [[nodiscard]] std::byte* from() const;
  [[nodiscard]] std::byte* to() const;

  Direction direction_;
  std::size_t bytes_;
  std::uint64_t seed_;
  std::optional<HostArea> host_;  ///< empty for copies within the device
  DeviceMemory device_;
  DeviceMemory other_device_;  ///< target of copies within the device
};

}  // namespace dlscale::backend::cuda
