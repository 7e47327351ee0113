#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"
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

/// One row for each combination. JSON: {"schema": "dlscale.sweep", "version": 1, "rows": [...],
/// "left_out": [...], "speedup_over": "…"}. Rows are as predictions of dlscale.prediction, with
/// "inter_node" and "best" ("all", "ranks" or null). Requires ≥ 1 row.
Document sweep_document(const Sweep& sweep);

}  // namespace dlscale::report
