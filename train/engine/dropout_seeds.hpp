#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "backend/compute/compute.hpp"
#include "core/network/network.hpp"

namespace dlscale::train {

/// The seeds of a network's dropout layers in memory of the device, where work that was recorded
/// finds those of the iteration under way (backend::Operands::seed_memory).
class DropoutSeeds {
 public:
  /// `device` must outlive it.
  DropoutSeeds(const Network& network, backend::ComputeDevice& device);

  [[nodiscard]] const std::vector<LayerId>& layers() const { return layers_; }
  /// Where the device reads the seed of layers()[i].
  [[nodiscard]] const std::uint64_t* memory(std::size_t i) const;
  /// Puts there what `seed_of` gives for each layer, in the order of the device's work: what it was
  /// given before keeps the seeds before.
  void send(const std::function<std::uint64_t(LayerId)>& seed_of);

 private:
  backend::ComputeDevice* device_;
  std::vector<LayerId> layers_;
  std::vector<std::uint64_t> seeds_;
  backend::Buffer memory_;
};

}  // namespace dlscale::train
