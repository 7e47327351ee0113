#pragma once
#include <span>

#include "model/sgd_iter/layer_times.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// What the layers of a network add to an iteration, a table for each number of ranks: kind,
/// forward and backward in ms, bytes of gradients and the time of their messages, and where these
/// times come from. JSON: {"schema": "dlscale.layers", "version": 1, "runs": [{"run": ...,
/// "layers":
/// [...]}, ...]}, where the source of a time is null if nothing is done. Requires ≥ 1 run, all of
/// `network`.
Document layer_document(const Network& network, std::span<const model::LayerTimes> runs);

}  // namespace dlscale::report
