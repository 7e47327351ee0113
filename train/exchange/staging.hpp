#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "backend/comm/communicator.hpp"
#include "backend/compute/compute.hpp"

namespace dlscale::train {

/// Brings what lies on a device to a communicator that takes host memory only, and back.
class Staging {
 public:
  /// Passes everything on where it lies.
  Staging() = default;
  /// Copies by way of host memory for up to `largest` floats if `device` has memory of its own that
  /// `communicator` does not take.
  Staging(backend::ComputeDevice& device, const backend::Communicator& communicator,
          std::size_t largest);

  /// Runs `work` on the elements or on a copy of them that is written back. What was to write them
  /// must be done. One thread at a time.
  void with(std::span<float> elements, const std::function<void(std::span<float>)>& work);

 private:
  std::unique_ptr<backend::Courier> courier_;  ///< none: nothing is copied
  backend::Buffer host_;
};

}  // namespace dlscale::train
