#pragma once
#include <span>
#include <string>

#include "core/measurement.hpp"
#include "model/sgd_iter/layer_times.hpp"
#include "model/sgd_iter/predict.hpp"
#include "report/compare.hpp"
#include "report/suite_record.hpp"
#include "report/validate.hpp"

namespace dlscale::report {

// Strict JSON (RFC 8259, no NaN) in SI with the unit in the key. What does not apply is null.

/// {"schema": "dlscale.prediction", "version": 1, "predictions": [...]}
std::string prediction_json(std::span<const model::Prediction> predictions);

/// {"schema": "dlscale.layers", "version": 1, "runs": [{"run": ..., "layers": [...]}, ...]}; null
/// is the source of a time where nothing is done.
std::string layers_json(const Network& network, std::span<const model::LayerTimes> runs);

/// {"schema": "dlscale.validation", "version": 1, "passed": ..., "runs": [...], "summaries": [...],
/// "schedule_orders": [...], ...} with "verdict": "passed", "failed" or "inconclusive" (some
/// measurements could not be judged).
std::string validation_json(const Validation& validation, const Limits& limits);

/// {"schema": "dlscale.comparison", "version": 1, "verdict": ..., "rows": [...], ...}
std::string comparison_json(const ComparisonReport& report);

/// {"schema": "dlscale.result_summary", "version": 1, "measurements": [...]}: medians and intervals
/// of results, with the rates that follow from them, without samples. Of suites also "cells":
/// [{"suite": ..., "cell": ..., "status": ..., "reason": ..., ...}].
std::string results_json(std::span<const ResultFile> results,
                         std::span<const SuiteRecord> suites = {});

}  // namespace dlscale::report
