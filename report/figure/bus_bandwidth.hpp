#pragma once
#include <optional>
#include <span>
#include <vector>

#include "core/results/measurement.hpp"
#include "model/machine/machine.hpp"
#include "report/figure/figures.hpp"

namespace dlscale::report::figure {

/// "allreduce": bus bandwidth (core/results/bandwidths.hpp) of all-reduces as training sends them against
/// the size of the message, a colour a number of ranks: measured medians with the 95 % interval of
/// the median from rows of "comm", and the lines that the fits say, where there are any. Both axes
/// logarithmic. Nothing without two sizes measured or a fit.
std::optional<Figure> bus_bandwidth(std::span<const ResultFile> results,
                                    std::span<const model::CollectiveFit> fits);

}  // namespace dlscale::report::figure
