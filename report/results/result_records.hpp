#pragma once
#include <span>

#include "core/results/measurement.hpp"
#include "report/results/suite_record.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// One row for each measurement: benchmark, all axes, status, median and interval of each series,
/// rates, machine. Headings include the unit; cells that do not apply are empty.
Table result_records(std::span<const ResultFile> results);

/// {"schema": "dlscale.result_summary", "version": 1, "measurements": [...]}: medians and intervals
/// of results with derived rates, without samples. With suites also "cells": [{"suite": ...,
/// "cell": ..., "status": ..., "reason": ..., ...}].
JsonText results_json(std::span<const ResultFile> results,
                      std::span<const SuiteRecord> suites = {});

}  // namespace dlscale::report
