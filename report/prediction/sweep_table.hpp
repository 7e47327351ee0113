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
  std::optional<LinkSpec> link = {};  ///< between nodes, where it was stated
};

/// Predictions of one network on one machine that differ in ranks, batch, schedule and link.
struct Sweep {
  std::vector<SweepRow> rows;
  std::vector<std::string> left_out;  ///< what could not be predicted, and why
  std::string speedup_over = "1 rank with the same batch per rank";
};

/// By row: most images a second of all rows, of those with as many ranks and the same link, or
/// neither. Of equal ones (to rounding) the first. Efficiencies of rows with different batches
/// compare each with one rank of its own batch, so that the rate is what counts.
enum class SweepMark { none, of_its_ranks, of_all };
std::vector<SweepMark> best_rows(const std::vector<SweepRow>& rows);

/// A row a combination. JSON: {"schema": "dlscale.sweep", "version": 1, "rows": [...],
/// "left_out": [...], "speedup_over": "…"}, rows as predictions of dlscale.prediction with
/// "inter_node" and "best" ("all", "ranks" or null). Requires ≥ 1 row.
Document sweep_document(const Sweep& sweep);

}  // namespace dlscale::report
