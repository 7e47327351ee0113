#pragma once
#include <optional>
#include <span>
#include <vector>

#include "core/results/measurement.hpp"
#include "model/machine/machine.hpp"
#include "report/figure/figures.hpp"

namespace dlscale::report::figure {

/// "allreduce": bus bandwidth (core/results/bandwidths.hpp) of all-reduces as training sends them,
/// against message size; one colour for each number of ranks. Shows measured medians of "comm" rows
/// with 95 % intervals, and the fitted lines if any. Both axes are logarithmic. Absent without two
/// measured sizes or a fit.
std::optional<Figure> bus_bandwidth(std::span<const ResultFile> results,
                                    std::span<const model::CollectiveFit> fits);

}  // namespace dlscale::report::figure
