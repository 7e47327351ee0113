#pragma once
#include <string>
#include <vector>

#include "model/parallel/answer/answer.hpp"

namespace dlscale::model::parallel_time {

/// A change of one thing, and the training after it.
struct Improvement {
  std::string change;  ///< "sequence parallelism", "links within nodes twice as fast"
  std::string plan;    ///< keys of the plan with new values, "chunks=2"; empty for other changes
  ParallelAnswer answer;
  double global_batch = 1;  ///< samples of an iteration
  double gain = 0;          ///< of samples a second, over those before, less 1
};

/// Changes by which a training does more samples a second, and fits, the best first:
/// - of the batch: twice the micro-batches, with twice the global batch;
/// - of the plan: twice or half of a micro-batch, stages cut anew, twice the chunks, zero bubbles,
///   sequence parallelism, the usual order, half of the tensor ranks or stages with twice the
///   replicas, another stage of ZeRO, less recomputation, compiled steps;
/// - of the cluster: links within nodes or between them twice as fast;
/// - of the host: no time for launches, as with a captured graph.
/// Each is predicted anew by predict_plan(). Those that gain 1 % or less, have a fault, or do not
/// fit are left out. `now` is the answer to `plan` by `setting`. All changes keep its constants and
/// its measured_factor, so that one without effect gains nothing at measured points.
std::vector<Improvement> improvements(const ParallelTimeFile& file,
                                      const ParallelQuestion& question,
                                      const ParallelHardware& hardware, const Setting& setting,
                                      const parallel::ParallelPlan& plan,
                                      const ParallelAnswer& now);

}  // namespace dlscale::model::parallel_time
