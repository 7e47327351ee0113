#pragma once
#include <span>

#include "core/measurement.hpp"
#include "report/table.hpp"

namespace dlscale::report {

/// One row a measurement: benchmark, all axes, status, median and interval of each series, rates,
/// machine.
/// Headings carry the unit; a cell that does not apply is empty.
Table result_records(std::span<const ResultFile> results);

}  // namespace dlscale::report
