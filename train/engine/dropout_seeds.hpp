#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "backend/compute/compute.hpp"
#include "core/network/network.hpp"

namespace dlscale::train {

/// The seeds of a network's dropout layers in device memory, where recorded work reads those of the
/// current iteration (backend::Operands::seed_memory).
class DropoutSeeds {
 public:
  /// `device` must outlive it.
  DropoutSeeds(const Network& network, backend::ComputeDevice& device);

  [[nodiscard]] const std::vector<LayerId>& layers() const { return layers_; }
  /// The device address of the seed of layers()[i].
  [[nodiscard]] const std::uint64_t* memory(std::size_t i) const;
  /// Copies `seed_of` each layer to the device, in stream order: work enqueued earlier still reads
  /// the old seeds.
  void send(const std::function<std::uint64_t(LayerId)>& seed_of);

 private:
  backend::ComputeDevice* device_;
  std::vector<LayerId> layers_;
  std::vector<std::uint64_t> seeds_;
  backend::Buffer memory_;
};

}  // namespace dlscale::train
