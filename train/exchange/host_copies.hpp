#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "backend/comm/communicator.hpp"
#include "backend/compute/compute.hpp"

namespace dlscale::train {

/// Copies device data to and from host memory for a communicator that takes only host memory.
class Staging {
 public:
  /// Passes all data on in place.
  Staging() = default;
  /// Copies up to `largest` floats through host memory if `device` has its own memory that
  /// `communicator` does not take.
  Staging(backend::ComputeDevice& device, const backend::Communicator& communicator,
          std::size_t largest);

  /// Returns the elements, or a copy of them that is valid until the next call. Writes to them must
  /// have finished. Not thread-safe.
  std::span<float> fetch(std::span<float> elements);
  /// Writes the copy of the last fetch() back to the same elements.
  void store(std::span<float> elements);

 private:
  std::unique_ptr<backend::CopyStream> copy_stream_;  ///< null: nothing is copied
  backend::Buffer host_;
};

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
  std::unique_ptr<backend::CopyStream> copy_stream_;  ///< null: the array is on the host
  backend::Buffer copy_;
};

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
