#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
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

/// Segments of an iteration between two marks. Each runs eagerly the first time, so that libraries
/// can initialise, is recorded the second time and replayed from then on. A segment must produce
/// the same work every time.
class Replay {
 public:
  /// `device` must outlive it.
  Replay(backend::ComputeDevice& device, std::size_t stretches);
  /// Runs segment `stretch`. Keeps `work`, which must stay valid. Throws Unsupported where the
  /// device cannot record it.
  void run(std::size_t stretch, const std::function<void()>& work);

 private:
  struct Stretch {
    bool ran = false;
    std::unique_ptr<backend::Recording> recording;
  };

  backend::ComputeDevice* device_;
  std::vector<Stretch> stretches_;
};

}  // namespace dlscale::train
