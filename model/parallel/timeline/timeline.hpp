#pragma once
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/parallel/plan.hpp"
#include "model/parallel/time/iteration.hpp"

namespace dlscale::model::parallel_time {

/// The uses of a rank's time in an iteration of a pipeline.
enum class Activity {
  forward,
  backward,        ///< or, in schedules that split it, the gradient of the input
  weights,         ///< gradients of weights, in schedules that split backward
  recompute,       ///< forward again, before backward
  layer_messages,  ///< exposed messages within layers: tensors, contexts, experts, sharded weights
  stage_messages,  ///< waits while a message from another stage is under way
  fill,            ///< waits before its first micro-batch
  wait,            ///< waits for another stage between its first and last operation
  drain,           ///< waits for the others after its own work
  gradients,       ///< exposed exchange of gradients
  update,
  memory,      ///< waits of an allocator for memory
  stragglers,  ///< the slowest of many nodes
};
inline constexpr std::size_t activities = 13;
std::string_view activity_name(Activity activity);

/// A stretch of a rank's time.
struct TimelineSpan {
  Activity activity = Activity::forward;
  int part = 0;         ///< of the network; -1: none
  int micro_batch = 0;  ///< -1: none
  Seconds start;        ///< since the iteration began
  Seconds end;          ///< > start
};

/// Seconds of a rank by activity; together the iteration.
struct RankTimes {
  std::array<double, activities> seconds = {};
  double& operator[](Activity activity) { return seconds[static_cast<std::size_t>(activity)]; }
  double operator[](Activity activity) const { return seconds[static_cast<std::size_t>(activity)]; }
  [[nodiscard]] double total() const;
  /// Waits for other stages: fill, wait and drain.
  [[nodiscard]] double bubble() const;
};

/// An iteration of one pipeline: of the first rank of each stage, whose neighbours in tensor and
/// context groups do the same. Other copies of the pipeline are alike.
struct ParallelTimeline {
  std::vector<std::vector<TimelineSpan>> stages;  ///< one after the other, without gaps
  std::vector<RankTimes> times;                   ///< by stage
  Seconds pipeline;                               ///< makespan of all micro-batches alone
  Seconds iteration;
};

/// Simulates the plan's schedule and cuts each operation into its parts, which really take turns
/// layer by layer: recomputation first, then kernels with their launches, and messages within
/// layers. Exchanges of gradients run beside computing, and only what the rank waits for is shown.
/// Requires a plan without faults, its sizes with the layers of stages where the plan states them,
/// and at most 10^6 parts of micro-batches.
ParallelTimeline parallel_timeline(const Setting& setting, const PlanSizes& sizes,
                                   const parallel::ParallelPlan& plan);

/// The same iteration, `factor` > 0 times as long in all its parts.
ParallelTimeline stretched(ParallelTimeline line, double factor);

/// The same iteration, `factor` ≥ 1 times as long because allocators wait for memory: behind each
/// piece of a forward or backward, in proportion to it. All else takes as much longer, since it
/// waits for these. [derived: waits recur in each micro-batch (waits_for_memory())]
ParallelTimeline with_memory_waits(ParallelTimeline line, double factor);

}  // namespace dlscale::model::parallel_time
