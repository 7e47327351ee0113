#pragma once
#include <span>

#include "model/sgd_iter/layer_times.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Contributions of a network's layers to an iteration, one table for each number of ranks.
/// Columns: kind, forward and backward in ms, bytes of gradients, the time of their messages, and
/// the sources of these times. JSON: {"schema": "dlscale.layers", "version": 2, "runs": [{"run":
/// ..., "layers": [...]}, ...]}, where the source of a time is null if nothing is done. Requires ≥
/// 1 run, all of `network`.
Document layer_document(const Network& network, std::span<const model::LayerTimes> runs);

}  // namespace dlscale::report
