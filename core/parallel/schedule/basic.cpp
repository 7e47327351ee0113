#include "core/parallel/schedule/family.hpp"
#include "core/parallel/schedule/lists.hpp"

namespace dlscale::parallel {
namespace {

/// Each micro-batch passes all stages forward and backward before the next one begins.
Schedule basic_schedule(const PipelineShape& shape) {
  std::vector<Computing> ranks(static_cast<std::size_t>(shape.stages));
  for (int stage = 0; stage < shape.stages; ++stage) {
    for (int i = 0; i < shape.micro_batches; ++i) {
      ranks[static_cast<std::size_t>(stage)].push_back(forward(stage, i));
      ranks[static_cast<std::size_t>(stage)].push_back(backward(stage, i));
    }
  }
  return with_messages(shape, ranks);
}

}  // namespace

extern const PipelineSchedule basic{"basic", "one micro-batch at a time: only one stage computes",
                                    basic_schedule, one_chunk_per_stage, Delivery::rendezvous};

}  // namespace dlscale::parallel
