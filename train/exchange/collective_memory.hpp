#pragma once
#include <cstddef>
#include <optional>
#include <span>

#include "backend/comm/communicator.hpp"
#include "backend/compute/compute.hpp"
#include "train/exchange/host_mirror.hpp"

namespace dlscale::train {

/// Gives the collectives of a communicator access to an array, piece by piece: in place if they
/// take memory of its device, else through a mirror on the host. Not thread-safe.
class CollectiveMemory {
 public:
  /// `device` must outlive it; `all` is in the device's memory.
  CollectiveMemory(backend::ComputeDevice& device, const backend::Communicator& communicator,
                   std::span<float> all);

  [[nodiscard]] backend::DataPlace place() const;
  /// Returns a piece of the array with its current contents. Writes to the piece must have
  /// finished.
  std::span<float> fetch(std::span<float> piece);
  /// Writes a fetched piece back to the array.
  void store(std::span<float> piece);
  /// Returns a piece without copying its contents.
  [[nodiscard]] std::span<float> there(std::span<float> piece) const;
  /// Allocates more memory of the same kind. Throws what ComputeDevice::allocate() does.
  [[nodiscard]] backend::Buffer allocate(std::size_t bytes) const;

  [[nodiscard]] std::span<float> all() const { return all_; }

 private:
  backend::ComputeDevice* device_;
  std::span<float> all_;
  backend::DataPlace place_;
  std::optional<HostMirror> mirror_;  ///< empty: nothing is copied
};

}  // namespace dlscale::train
