#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "core/parallel/plan.hpp"
#include "model/parallel/timeline/timeline.hpp"

namespace dlscale::report {

/// The time line of a plan, as a trace shows it.
struct TracedPlan {
  std::string title;  ///< network, cluster and plan
  parallel::PipelineShape shape = {};
  model::parallel_time::ParallelTimeline timeline;
  Seconds predicted;  ///< of the iteration, which the simulation may differ from
  std::size_t most_events = 100'000;
};

/// A trace for Chrome and Perfetto (core/results/trace_event.hpp): a process for each plan, in it a
/// row for each stage. Events are named by their activity, with micro-batch and chunk as arguments.
/// Of plans with more events than that, the first and last micro-batches are shown, and the name
/// of the process says which. Requires a plan.
std::string parallel_trace(std::span<const TracedPlan> plans);

}  // namespace dlscale::report
