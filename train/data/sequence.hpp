#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "train/data/data.hpp"

namespace dlscale::train {

/// The endless sequence of pictures that all ranks together train on: one permutation of the data
/// set after another, each drawn from the seed and the number of its epoch.
class PictureSequence {
 public:
  /// Requires pictures ≥ 1.
  PictureSequence(std::size_t pictures, std::uint64_t seed);
  /// The picture and seed at `position`. Fast if the positions of one epoch are requested in a row.
  Pick at(std::uint64_t position);

 private:
  void shuffle(std::uint64_t epoch);

  std::uint64_t seed_;
  std::uint64_t epoch_ = 0;
  std::vector<std::size_t> order_;
};

}  // namespace dlscale::train
