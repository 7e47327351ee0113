#pragma once
#include <optional>

#include "model/parallel/timeline/timeline.hpp"
#include "report/figure/figure.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {

/// A step of a pipeline, short enough for an answer: {"windows_s": [[from, to], …], "stages":
/// [{"stage": 1, "forward_s", "backward_s", "weights_s", "messages_s", "gradients_s", "update_s",
/// "waits_s", "idle_s", "boxes": [[kind, start, end, micro-batch or −1], …]}, …]}. Times of a stage
/// add up to the step; those of 0 are left out. Backward has the recomputation for it. At most 8
/// stages have boxes, from the first to the last. Of more than 240 boxes, those within windows at
/// the beginning, in the middle and at the end of the step are listed.
Json pipeline_json(const model::parallel_time::ParallelTimeline& line);

/// The chart of a plan in JSON that has a "pipeline"; absent without one. Throws
/// nlohmann::json::exception for JSON that lacks a key.
std::optional<Figure> pipeline_figure(const Json& plan);

}  // namespace dlscale::report
