#pragma once
#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::model {

/// The least share of the peak of all devices at which they can train `samples` ≥ 0 of the network
/// in `time` > 0; 0 for devices without a peak. A convolution by filters of r × s counts one
/// product in r s, since no fast algorithm takes fewer. [Winograd, Arithmetic Complexity of
/// Computations, 1980: (m + r - 1) products for m results] Attention and element-wise work count
/// nothing. Training in f32 may round to tf32, as frameworks do.
double least_peak_share(const Network& network, const Machine& machine, const Run& run,
                        double samples, Seconds time);

}  // namespace dlscale::model
