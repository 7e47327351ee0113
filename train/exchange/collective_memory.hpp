#pragma once
#include <cstddef>
#include <optional>
#include <span>

#include "backend/comm/communicator.hpp"
#include "backend/compute/compute.hpp"
#include "train/exchange/host_mirror.hpp"

namespace dlscale::train {

/// Where the collectives of a communicator find an array, piece by piece: where it lies, if they
/// take memory of its device, else in a mirror of it on the host. One thread at a time.
class CollectiveMemory {
 public:
  /// `device` must outlive it, `all` lie in its memory.
  CollectiveMemory(backend::ComputeDevice& device, const backend::Communicator& communicator,
                   std::span<float> all);

  [[nodiscard]] backend::DataPlace place() const;
  /// Where a piece of the array is there: what it holds. What was to write the piece must be done.
  std::span<float> fetch(std::span<float> piece);
  /// Brings to the array what is there of a piece that was fetched.
  void store(std::span<float> piece);
  /// Where a piece is there, whatever it holds.
  [[nodiscard]] std::span<float> there(std::span<float> piece) const;
  /// More memory at that place. Throws what ComputeDevice::allocate() does.
  [[nodiscard]] backend::Buffer allocate(std::size_t bytes) const;

  [[nodiscard]] std::span<float> all() const { return all_; }

 private:
  backend::ComputeDevice* device_;
  std::span<float> all_;
  backend::DataPlace place_;
  std::optional<HostMirror> mirror_;  ///< none: nothing is copied
};

}  // namespace dlscale::train
