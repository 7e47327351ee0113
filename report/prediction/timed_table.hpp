#pragma once
#include <optional>
#include <span>
#include <string>

#include "core/base/units.hpp"
#include "core/network/timed_layers.hpp"
#include "model/sgd_iter/predict.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Predictions from layers that somebody timed (model/sgd_iter/timed_iteration.hpp).
struct TimedPredictions {
  TimedLayers layers;
  std::string messages;         ///< where the times of messages come from: "messages.csv", "p40x16"
  std::optional<Bytes> bucket;  ///< where buckets are closed, if it was asked for
  std::span<const model::Prediction> rows;  ///< ≥ 1; of one batch
};

/// As a table with a row for each number of ranks and schedule: phases in ms, images/s, speed-up,
/// efficiency and what bounds it; notes below. For programs: a row a prediction, and strict JSON,
/// {"schema": "dlscale.timed_prediction", "version": 1, "rows": [...]}.
Document timed_document(const TimedPredictions& predictions);

}  // namespace dlscale::report
