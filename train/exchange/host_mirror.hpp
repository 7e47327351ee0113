#pragma once
#include <memory>
#include <span>

#include "backend/compute/compute.hpp"

namespace dlscale::train {

/// The host's view of an array, piece by piece, for collectives that take only host memory: the
/// array itself, or a copy if it is on a device. Not thread-safe.
class HostMirror {
 public:
  /// `device` must outlive the mirror; `all` is in the device's memory.
  HostMirror(backend::ComputeDevice& device, std::span<float> all);

  /// Returns a piece of the array on the host with its current contents. Writes to the piece must
  /// have finished.
  std::span<float> fetch(std::span<float> piece);
  /// Copies a fetched piece from the host to the device.
  void store(std::span<float> piece);

  /// Returns a piece on the host without copying its contents.
  [[nodiscard]] std::span<float> on_host(std::span<float> piece) const;

 private:
  const float* all_ = nullptr;
  std::unique_ptr<backend::Courier> courier_;  ///< null: the array is on the host
  backend::Buffer copy_;
};

}  // namespace dlscale::train
