#pragma once
#include <span>
#include <string>

#include "core/measurement.hpp"
#include "report/compare.hpp"
#include "report/suite_record.hpp"

namespace dlscale::report {

// Strict JSON (RFC 8259, no NaN) in SI with the unit in the key. What does not apply is null.

/// {"schema": "dlscale.comparison", "version": 1, "verdict": ..., "rows": [...], ...}
std::string comparison_json(const ComparisonReport& report);

/// {"schema": "dlscale.result_summary", "version": 1, "measurements": [...]}: medians and intervals
/// of results, with the rates that follow from them, without samples. Of suites also "cells":
/// [{"suite": ..., "cell": ..., "status": ..., "reason": ..., ...}].
std::string results_json(std::span<const ResultFile> results,
                         std::span<const SuiteRecord> suites = {});

}  // namespace dlscale::report
