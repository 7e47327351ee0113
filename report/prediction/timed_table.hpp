#pragma once
#include <optional>
#include <span>
#include <string>

#include "core/base/units.hpp"
#include "core/network/timed_layers.hpp"
#include "model/sgd_iter/predict.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Predictions from measured layer times (model/sgd_iter/timed_iteration.hpp).
struct TimedPredictions {
  TimedLayers layers;
  std::string messages;         ///< source of the message times: "messages.csv", "p40x16"
  std::optional<Bytes> bucket;  ///< requested size at which buckets are closed
  std::span<const model::Prediction> rows;  ///< ≥ 1; all with one batch
};

/// A table with one row for each number of ranks and schedule: phases in ms, images/s, speed-up,
/// efficiency and the bottleneck; notes below. Records have one row for each prediction. Strict
/// JSON: {"schema": "dlscale.timed_prediction", "version": 1, "rows": [...]}.
Document timed_document(const TimedPredictions& predictions);

}  // namespace dlscale::report
