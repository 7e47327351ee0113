#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "backend/compute/compute.hpp"

namespace dlscale::train {

/// The stretches of an iteration between two marks, each given to the device as it is the first
/// time (libraries prepare themselves then), recorded the second time, and replayed from then on.
/// A stretch must give the same work every time.
class Replay {
 public:
  /// `device` must outlive it.
  Replay(backend::ComputeDevice& device, std::size_t stretches);
  /// Keeps `work`, which must stay valid. Throws Unsupported where the device cannot record it.
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
