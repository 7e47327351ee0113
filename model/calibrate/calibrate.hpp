#pragma once
#include <span>

#include "core/measurement.hpp"
#include "model/machine.hpp"

namespace dlscale::model {

/// Fits a machine to the results of bench conv, update, memory, io and comm. Files of "e2e" (what
/// predictions are judged on) are refused with ConfigError. Only measurements with status ok or
/// unstable are used. Collectives: piecewise α-β by weighted least squares on relative error,
/// breakpoints chosen by exact search with a penalty for each further segment.
Machine calibrate(const Cluster& cluster, std::span<const ResultFile> results);

}  // namespace dlscale::model
