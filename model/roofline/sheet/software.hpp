#pragma once
#include "core/run/compute_traits.hpp"

namespace dlscale::model::sheet {

/// Software all of whose traits are known.
struct Software {
  ImageLayout layout = ImageLayout::channels_first;
  Elementwise elementwise = Elementwise::separate;
  UpdateKernels update = UpdateKernels::tensor;
  double age = 0;  ///< of its libraries, in units of 2.8 years before mid-2019
  bool operator==(const Software&) const = default;
};

/// The traits as they are known; unknown ones are those of eager frameworks of today, as above.
Software software_with(const ComputeTraits& traits);

}  // namespace dlscale::model::sheet
