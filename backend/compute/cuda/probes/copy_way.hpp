#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "backend/compute/cuda/probes/host_area.hpp"
#include "backend/compute/cuda/runtime/handles.hpp"
#include "backend/compute/device_probes.hpp"

namespace dlscale::backend::cuda {

/// Memory at both ends of a copy of one direction, with a pattern at its start.
class CopyWay {
 public:
  CopyWay(const CopySpec& spec, std::uint64_t seed);
  /// Puts the pattern at the start and zeros at the end.
  void prepare();
  /// How many bytes at the end are not those of the pattern.
  [[nodiscard]] std::size_t wrong_bytes() const;
  /// Enqueues the copy; with pageable memory it may return as late as when the copy is done.
  void go(cudaStream_t stream) const;

 private:
  [[nodiscard]] std::byte* from() const;
  [[nodiscard]] std::byte* to() const;

  Direction direction_;
  std::size_t bytes_;
  std::uint64_t seed_;
  std::optional<HostArea> host_;  ///< unless it is within the device
  DeviceMemory device_;
  DeviceMemory other_device_;  ///< if it is within the device: where it ends
};

}  // namespace dlscale::backend::cuda
