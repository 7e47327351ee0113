#include <algorithm>

#include "core/parallel/schedule/family.hpp"
#include "core/parallel/schedule/lists.hpp"

namespace dlscale::parallel {
namespace {

/// ZB-H1: as 1f1b, but the gradient of the input travels on before that of the weights is computed.
/// Stage s computes the latter s micro-batches later, so that every stage holds as many as the
/// first one of 1f1b. [arXiv:2401.10241]
Schedule zero_bubble_schedule(const PipelineShape& shape) {
  std::vector<Computing> ranks(static_cast<std::size_t>(shape.stages));
  for (int stage = 0; stage < shape.stages; ++stage) {
    Computing& rank = ranks[static_cast<std::size_t>(stage)];
    const int ahead = std::min(shape.stages - 1 - stage, shape.micro_batches);
    for (int i = 0; i < ahead; ++i) rank.push_back(forward(stage, i));
    int weights = 0;
    for (int i = 0; i < shape.micro_batches; ++i) {
      if (ahead + i < shape.micro_batches) rank.push_back(forward(stage, ahead + i));
      rank.push_back({OperationKind::backward_input, stage, i});
      if (i >= stage) rank.push_back({OperationKind::backward_weights, stage, weights++});
    }
    while (weights < shape.micro_batches) {
      rank.push_back({OperationKind::backward_weights, stage, weights++});
    }
  }
  return with_messages(shape, ranks);
}

}  // namespace

extern const PipelineSchedule zero_bubble{"zero_bubble",
                                          "ZB-H1: gradients of weights fill the bubbles of 1f1b",
                                          zero_bubble_schedule,
                                          one_chunk_per_stage,
                                          Delivery::eager,
                                          1,
                                          true};

}  // namespace dlscale::parallel
