#pragma once
#include <span>

#include "core/results/measurement.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Benchmark results, a table a file: the axes that vary, median and interval, rates, what ran, its
/// error against the reference, and why a cell has no time. Axes that are the same everywhere stand
/// below the table.
Document results_document(std::span<const ResultFile> results);

}  // namespace dlscale::report
