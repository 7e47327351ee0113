#pragma once
#include <cstddef>
#include <functional>
#include <memory>
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

  /// Runs `work` on the elements, or on a copy that is then written back. Writes to them must have
  /// finished. Not thread-safe.
  void with(std::span<float> elements, const std::function<void(std::span<float>)>& work);

 private:
  std::unique_ptr<backend::Courier> courier_;  ///< null: nothing is copied
  backend::Buffer host_;
};

}  // namespace dlscale::train
