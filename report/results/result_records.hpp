#pragma once
#include <span>

#include "core/results/measurement.hpp"
#include "report/results/suite_record.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// One row a measurement: benchmark, all axes, status, median and interval of each series, rates,
/// machine.
/// Headings carry the unit; a cell that does not apply is empty.
Table result_records(std::span<const ResultFile> results);

/// {"schema": "dlscale.result_summary", "version": 1, "measurements": [...]}: medians and intervals
/// of results, with the rates that follow from them, without samples. With suites also "cells":
/// [{"suite": ..., "cell": ..., "status": ..., "reason": ..., ...}].
JsonText results_json(std::span<const ResultFile> results,
                      std::span<const SuiteRecord> suites = {});

}  // namespace dlscale::report
