#pragma once
#include <optional>
#include <span>

#include "core/results/measurement.hpp"
#include "report/figure/figures.hpp"
#include "report/kernels/kernel_study.hpp"

namespace dlscale::report::figure {

/// "roofline": a panel a pass, with the measured ceilings of memory and arithmetic and a mark for
/// each convolution and algorithm: operations a second that it executes against its operations a
/// byte. Both axes logarithmic. Marks have the state of caches that most have. Nothing without a
/// roofline or a kernel under it.
std::optional<Figure> roofline(const KernelStudy& study);

/// "latency": latency of an access against the working set, a line a row of `bench latency`
/// that swept it, with the capacities that it found and those that the system names.
/// Below it the same for the pages in use, where they were swept. Both axes logarithmic. Nothing
/// without a sweep.
std::optional<Figure> latency(std::span<const ResultFile> results);

}  // namespace dlscale::report::figure
