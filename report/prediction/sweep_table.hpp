#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/cluster/cluster.hpp"
#include "core/network/timed_layers.hpp"
#include "model/sgd_iter/predict.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// One combination of a sweep.
struct SweepRow {
  model::Prediction prediction;
  std::optional<LinkSpec> link = {};  ///< between nodes, if it was stated
};

/// Predictions of one network on one machine that differ in ranks, batch, schedule and link.
struct Sweep {
  std::vector<SweepRow> rows;
  std::vector<std::string> left_out;  ///< combinations that could not be predicted, and why
  std::string speedup_over = "1 rank with the same batch per rank";
};

/// Mark of a row: most images per second of all rows, or of those with the same ranks and link, or
/// neither. The first of equal rows (to rounding) gets the mark. Rates count, not efficiencies:
/// rows with different batches compare with one rank of their own batch each.
enum class SweepMark { none, of_its_ranks, of_all };
std::vector<SweepMark> best_rows(const std::vector<SweepRow>& rows);

/// One row for each combination. JSON: {"schema": "dlscale.sweep", "version": 2, "rows": [...],
/// "left_out": [...], "speedup_over": "…"}. Rows are as predictions of dlscale.prediction, with
/// "inter_node" and "best" ("all", "ranks" or null). Requires ≥ 1 row.
Document sweep_document(const Sweep& sweep);

/// Predictions from measured layer times (model/sgd_iter/timed_iteration.hpp).
struct TimedPredictions {
  TimedLayers layers;
  std::string messages;         ///< source of the message times: "messages.csv", "p40x16"
  std::optional<Bytes> bucket;  ///< requested size at which buckets are closed
  std::span<const model::Prediction> rows;  ///< ≥ 1; all with one batch
  std::vector<std::string> notes;           ///< on the source
};

/// A table with one row for each number of ranks and schedule: phases in ms, images/s, speed-up,
/// efficiency and the bottleneck; notes below. Records have one row for each prediction. Strict
/// JSON: {"schema": "dlscale.timed_prediction", "version": 2, "rows": [...]}.
Document timed_document(const TimedPredictions& predictions);

}  // namespace dlscale::report
