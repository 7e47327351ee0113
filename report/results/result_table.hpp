#pragma once
#include <span>

#include "core/results/measurement.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Benchmark results, one table for each file: varying axes, median and interval, rates, what ran,
/// its error against the reference, and why a cell has no time. Constant axes are listed below the
/// table.
Document results_document(std::span<const ResultFile> results);

}  // namespace dlscale::report
