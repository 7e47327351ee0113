#include "core/parallel/schedule/family.hpp"
#include "core/parallel/schedule/lists.hpp"

namespace dlscale::parallel {
namespace {

/// All micro-batches forward, then all backward, the last first. [arXiv:1811.06965]
Schedule gpipe_schedule(const PipelineShape& shape) {
  std::vector<Computing> ranks(static_cast<std::size_t>(shape.stages));
  for (int stage = 0; stage < shape.stages; ++stage) {
    Computing& rank = ranks[static_cast<std::size_t>(stage)];
    for (int i = 0; i < shape.micro_batches; ++i) rank.push_back(forward(stage, i));
    for (int i = shape.micro_batches; i-- > 0;) rank.push_back(backward(stage, i));
  }
  return with_messages(shape, ranks);
}

}  // namespace

extern const PipelineSchedule gpipe{"gpipe", "all micro-batches forward, then all backward",
                                    gpipe_schedule, one_chunk_per_stage, Delivery::rendezvous};

}  // namespace dlscale::parallel
