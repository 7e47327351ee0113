#pragma once
#include <optional>
#include <span>

#include "core/results/measurement.hpp"
#include "report/figure/figures.hpp"
#include "report/kernels/kernel_study.hpp"

namespace dlscale::report::figure {

/// "roofline": one panel for each pass, with the measured ceilings of memory and arithmetic. Each
/// convolution and algorithm is a mark: executed operations per second against operations per byte.
/// Both axes are logarithmic. Shows only the most common cache state. Absent without a roofline or
/// a kernel under it.
std::optional<Figure> roofline(const KernelStudy& study);

/// "latency": access latency against the working set, one line for each sweep of `bench latency`,
/// with the cache capacities it found and those the system reports. A second diagram shows the same
/// for the pages in use, if they were swept. Both axes are logarithmic. Absent without a sweep.
std::optional<Figure> latency(std::span<const ResultFile> results);

}  // namespace dlscale::report::figure
