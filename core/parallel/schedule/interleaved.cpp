#include <fmt/format.h>

#include <algorithm>

#include "core/parallel/schedule/family.hpp"
#include "core/parallel/schedule/lists.hpp"

namespace dlscale::parallel {
namespace {

/// The k-th forward or backward of a rank: chunk after chunk, as many micro-batches at a time as
/// there are stages.
Operation item(const PipelineShape& shape, Rank rank, int k, bool is_forward) {
  const int in_round = k % shape.parts();
  const int round = k / shape.parts();
  const int chunk = in_round / shape.stages;
  const int micro_batch = round * shape.stages + k % shape.stages;
  if (is_forward) return forward(chunk * shape.stages + rank, micro_batch);
  return backward((shape.chunks - 1 - chunk) * shape.stages + rank, micro_batch);
}

/// As 1f1b over the chunks of a rank, of which chunk c is part c · stages + rank. It runs
/// 2 (stages - 1 - rank) + (chunks - 1) stages forwards ahead. [arXiv:2104.04473]
Schedule interleaved_schedule(const PipelineShape& shape) {
  const int items = shape.micro_batches * shape.chunks;
  std::vector<Computing> ranks(static_cast<std::size_t>(shape.stages));
  for (Rank rank = 0; rank < shape.stages; ++rank) {
    Computing& list = ranks[static_cast<std::size_t>(rank)];
    const int ahead =
        std::min(2 * (shape.stages - 1 - rank) + (shape.chunks - 1) * shape.stages, items);
    for (int k = 0; k < ahead; ++k) list.push_back(item(shape, rank, k, true));
    for (int k = 0; k < items; ++k) {
      if (ahead + k < items) list.push_back(item(shape, rank, ahead + k, true));
      list.push_back(item(shape, rank, k, false));
    }
  }
  return with_messages(shape, ranks);
}

std::string interleaved_obstacle(const PipelineShape& shape) {
  if (shape.stages < 2) return "needs 2 stages or more";
  if (shape.chunks < 2) return "needs 2 chunks per stage or more";
  if (shape.micro_batches % shape.stages == 0) return "";
  return fmt::format("takes whole multiples of {} micro-batches, one for each stage", shape.stages);
}

}  // namespace

extern const PipelineSchedule interleaved{
    "interleaved", "1f1b with several chunks per stage: shorter bubbles, more messages",
    interleaved_schedule, interleaved_obstacle, Delivery::eager};

}  // namespace dlscale::parallel
