#include "core/parallel/schedule/gems.hpp"

#include "core/parallel/schedule/lists.hpp"

namespace dlscale::parallel {

Schedule gems_schedule(const PipelineShape& shape) {
  std::vector<Computing> ranks(static_cast<std::size_t>(shape.stages));
  for (Rank rank = 0; rank < shape.stages; ++rank) {
    for (int i = 0; i < shape.micro_batches; ++i) {
      const int part = i % 2 == 0 ? rank : shape.stages - 1 - rank;
      ranks[static_cast<std::size_t>(rank)].push_back(forward(part, i));
      ranks[static_cast<std::size_t>(rank)].push_back(backward(part, i));
    }
  }
  return with_messages(shape, ranks, 2);
}

std::string gems_obstacle(const PipelineShape& shape) {
  if (shape.stages < 2) return "needs 2 stages or more";
  return one_chunk_per_stage(shape);
}

}  // namespace dlscale::parallel
