#pragma once
#include <string>
#include <string_view>

#include "core/base/family.hpp"
#include "core/parallel/schedule/schedule.hpp"

namespace dlscale::parallel {

/// An order in which the ranks of a pipeline work through the micro-batches of an iteration.
struct PipelineSchedule {
  std::string_view name;  ///< as plans write it
  std::string_view doc;
  /// The lists of all ranks. Calling it with a shape for which obstacle() returns a reason is a bug
  /// of the caller (EXPECT).
  Schedule (*schedule)(const PipelineShape& shape);
  /// Why the schedule does not support a shape, as obstacle() says it; empty if it does.
  std::string (*own_obstacle)(const PipelineShape& shape);
  Delivery delivery;  ///< the least that its messages need: lists for rendezvous run eagerly
  int copies = 1;     ///< of the network, as in Schedule
  bool splits_backward = false;  ///< gradients of weights are computed apart
};

/// Pieces of an iteration (parts × micro-batches) that a schedule can have.
inline constexpr int most_pieces = 1'000'000;

/// Why a schedule does not support a shape, as the end of a sentence ("needs 2 stages or more");
/// empty if it does.
std::string obstacle(const PipelineSchedule& schedule, const PipelineShape& shape);

/// The schedule with that name. Throws ConfigError, naming those that there are.
const PipelineSchedule& find_schedule(std::string_view name);

}  // namespace dlscale::parallel

namespace dlscale {
template <>
Family<parallel::PipelineSchedule> family<parallel::PipelineSchedule>();
}  // namespace dlscale
