#pragma once
#include <memory>
#include <span>

#include "backend/compute/compute.hpp"

namespace dlscale::train {

/// The host's view of an array, piece by piece, for collectives that take host memory only: the
/// array itself, or a copy of it if it lies on a device. One thread at a time.
class HostMirror {
 public:
  /// `device` must outlive the mirror, `all` lie in its memory.
  HostMirror(backend::ComputeDevice& device, std::span<float> all);

  /// Where a piece of the array is on the host: what it holds there. What was to write the piece
  /// must be done.
  std::span<float> fetch(std::span<float> piece);
  /// Brings to the device what the host has of a piece that was fetched.
  void store(std::span<float> piece);

  /// Where a piece is on the host, whatever it holds there.
  [[nodiscard]] std::span<float> on_host(std::span<float> piece) const;

 private:
  const float* all_ = nullptr;
  std::unique_ptr<backend::Courier> courier_;  ///< none: the array lies on the host
  backend::Buffer copy_;
};

}  // namespace dlscale::train
