#include "model/sgd_iter/graph/iteration.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "model/sgd_iter/graph/iteration_graph.hpp"

namespace dlscale::model {

bool IterationPlan::overlaps() const {
  return schedule != Schedule::sequential &&
         std::ranges::any_of(backward,
                             [](const BackwardPart& part) { return part.message.has_value(); });
}

bool IterationPlan::gathers() const {
  return std::ranges::any_of(backward,
                             [](const BackwardPart& part) { return part.gather.has_value(); });
}

Seconds IterationPlan::meeting_before(std::size_t sent) const {
  if (packing) return {};
  return schedule != Schedule::sequential || sent == 0 ? meeting : Seconds();
}

Seconds IterationPlan::meeting_before_gather(std::size_t sent) const {
  return !late.empty() || sent == 0 ? meeting : Seconds();
}

double IterationPlan::most_cores_wanted() const {
  const bool sequential = schedule == Schedule::sequential;
  const bool sends = sequential || (gathers() && late.empty());
  const double training = std::max({copy_cores, compute_cores, sends ? comm_cores : 0});
  const double beside = overlaps() ? comm_cores : 0;
  return training + beside + loader_threads * loader_cores;
}

namespace {

/// An iteration, and the time from when its batch was ready to its start.
struct Observed {
  IterationTime time;
  Seconds lead;
};

bool alike(const Observed& a, const Observed& b) {
  const auto close = [&](Seconds x, Seconds y) {
    return std::abs((x - y).si()) <= 1e-10 * b.time.total.si();
  };
  return close(a.lead, b.lead) &&
         std::all_of(std::begin(all_phases), std::end(all_phases),
                     [&](auto phase) { return close(a.time.*phase, b.time.*phase); });
}

IterationTime mean(const std::vector<Observed>& iterations) {
  IterationTime result;
  for (const auto phase : all_phases) {
    for (const Observed& iteration : iterations) result.*phase += iteration.time.*phase;
    result.*phase = (result.*phase) / static_cast<double>(iterations.size());
  }
  return result;
}

/// The lead of a batch, which matters only where reading slows compute down.
Seconds lead(const IterationPlan& plan, const Timeline& timeline, const IterationMarks& marks,
             Seconds start) {
  if (plan.most_cores_wanted() <= plan.cores) return {};
  return start - timeline.finished(marks.load);
}

/// The last `count` of `iterations`. Simulates more, because loader threads read their batches
/// during those observed.
std::vector<Observed> last_iterations(const IterationPlan& plan, int iterations, int count) {
  IterationGraph graph(plan);
  for (int k = 0; k <= iterations + static_cast<int>(queue_length(plan)); ++k)
    graph.add_iteration();
  const Timeline timeline = simulate(graph.graph());
  std::vector<Observed> observed;
  for (int k = iterations - count; k < iterations; ++k) {
    const auto i = static_cast<std::size_t>(k);
    const IterationMarks& marks = graph.iterations()[i];
    const Seconds start = timeline.finished(graph.iterations()[i - 1].end);
    observed.push_back({phases(plan, timeline, marks, start, graph.iterations()[i + 1]),
                        lead(plan, timeline, marks, start)});
  }
  return observed;
}

}  // namespace

/// The first iterations differ, while the queue of batches fills or drains. Uses the mean of the
/// last 32 of 64 where loader threads compete with compute: the steady state can be a cycle of
/// several iterations or be reached slowly. Also where messages are packed, because looks come at
/// another phase of each iteration.
IterationTime simulate_iteration(const IterationPlan& plan) {
  EXPECT(plan.loader_threads >= 1 && plan.prefetch >= 1);
  for (int iterations = plan.packing ? 64 : 8; iterations < 64; iterations *= 2) {
    const auto last = last_iterations(plan, iterations, 3);
    if (alike(last[0], last[2]) && alike(last[1], last[2])) return last.back().time;
  }
  return mean(last_iterations(plan, 64, 32));
}

}  // namespace dlscale::model
