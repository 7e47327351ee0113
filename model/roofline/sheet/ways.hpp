#pragma once
#include <vector>

#include "core/run/compute_traits.hpp"
#include "model/roofline/sheet/kernel_constants.hpp"

namespace dlscale::model::sheet {

/// The ways in which software may compute: each unknown trait takes each of its values. A
/// heuristic search finds the fast algorithms, or only direct ones. Where all is known, the traits
/// themselves.
std::vector<ComputeTraits> ways_of(const ComputeTraits& traits, NetworkFamily family);

/// The quickest way of other software on the same libraries: channels-last images, and kernels that
/// take in element-wise layers.
ComputeTraits quickest_way(const ComputeTraits& traits, NetworkFamily family);

/// Age of libraries: years before KernelConstants::new_libraries, in units of years_of_age; ≥ 0.
double age_of(const ComputeTraits& traits, const KernelConstants& constants);

}  // namespace dlscale::model::sheet
