#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "backend/compute/compute.hpp"

namespace dlscale::bench {

/// Random normal numbers to compute with: the same few thousand over and over, quick to write and
/// without a denormal, whose arithmetic is slow on some processors.
class NormalValues {
 public:
  NormalValues();
  /// The value at place i of an array with standard deviation `sigma`.
  [[nodiscard]] float at(std::size_t i, float sigma) const {
    return sigma * tile_[i % tile_.size()];
  }
  void fill(std::span<float> values, float sigma) const;
  /// Any layout and precision.
  void fill(backend::ComputeDevice& device, const backend::Tensor& tensor, float sigma) const;

 private:
  std::vector<float> tile_;
};

}  // namespace dlscale::bench
