#pragma once
#include "train/data/data.hpp"

namespace dlscale::train {

/// A set that is made within a blink even under sanitizers.
inline DataSetSpec small_spec() {
  return {.classes = 4, .pictures = 14, .width = 96, .height = 72, .target_bytes = 5000, .seed = 3};
}

}  // namespace dlscale::train
