#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "backend/compute/compute.hpp"

namespace dlscale::train {

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
