#include <algorithm>

#include "core/parallel/schedule/family.hpp"
#include "core/parallel/schedule/lists.hpp"

namespace dlscale::parallel {
namespace {

/// Stage s runs stages - 1 - s micro-batches forward, then one forward and one backward in turn, so
/// that it holds at most stages - s. [arXiv:2006.09503, PipeDream-Flush]
Schedule one_f_one_b_schedule(const PipelineShape& shape) {
  std::vector<Computing> ranks(static_cast<std::size_t>(shape.stages));
  for (int stage = 0; stage < shape.stages; ++stage) {
    Computing& rank = ranks[static_cast<std::size_t>(stage)];
    const int ahead = std::min(shape.stages - 1 - stage, shape.micro_batches);
    for (int i = 0; i < ahead; ++i) rank.push_back(forward(stage, i));
    for (int i = 0; i < shape.micro_batches; ++i) {
      if (ahead + i < shape.micro_batches) rank.push_back(forward(stage, ahead + i));
      rank.push_back(backward(stage, i));
    }
  }
  return with_messages(shape, ranks);
}

}  // namespace

extern const PipelineSchedule one_f_one_b{
    "1f1b", "one forward and one backward in turn: no more micro-batches held than stages",
    one_f_one_b_schedule, one_chunk_per_stage, Delivery::eager};

}  // namespace dlscale::parallel
