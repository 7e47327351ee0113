#include "model/sgd_iter/iteration.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "model/sgd_iter/task_graph.hpp"

namespace dlscale::model {

double IterationPlan::most_cores_wanted() const {
  const bool sequential = schedule == Schedule::sequential;
  const double training = std::max({copy_cores, compute_cores, sequential ? comm_cores : 0});
  const bool communicates = std::any_of(backward.begin(), backward.end(),
                                        [](const BackwardPart& part) { return part.message; });
  const double beside = communicates && !sequential ? comm_cores : 0;
  return training + beside + loader_threads * loader_cores;
}

namespace {

/// The tasks of one iteration that its phases are read from.
struct Marks {
  TaskId load;
  TaskId take;
  TaskId h2d;
  TaskId forward;
  TaskId backward;  ///< the last part
  std::vector<TaskId> messages;
  TaskId update;
};

/// The steady state does not depend on the depth of the queue, for nothing jitters here (9.3); a
/// deep one only takes longer to fill.
std::size_t queue_length(const IterationPlan& plan) {
  return static_cast<std::size_t>(std::min(plan.prefetch, 4));
}

class IterationGraph {
 public:
  explicit IterationGraph(const IterationPlan& plan);
  void add_iteration();
  [[nodiscard]] const TaskGraph& graph() const { return graph_; }
  [[nodiscard]] const std::vector<Marks>& iterations() const { return iterations_; }

 private:
  std::vector<TaskId> add_input(Marks& marks);
  std::vector<TaskId> add_backward(Marks& marks);
  TaskId add_message(Seconds time, TaskId after);

  const IterationPlan* plan_;
  TaskGraph graph_;
  ResourceId storage_;
  ResourceId loaders_;
  ResourceId training_;
  ResourceId comm_;
  std::vector<Marks> iterations_;
};

IterationGraph::IterationGraph(const IterationPlan& plan)
    : plan_(&plan),
      graph_(plan.cores),
      storage_(graph_.add(Resource{"storage", 1})),
      loaders_(graph_.add(Resource{"loader threads", 1})),
      training_(graph_.add(Resource{"training thread", 1})),
      comm_(graph_.add(Resource{"communication thread", 1})) {}

/// A batch may be read once a place in the queue is free: when batch k - prefetch was taken.
std::vector<TaskId> IterationGraph::add_input(Marks& marks) {
  std::vector<TaskId> slot;
  const std::size_t ahead = queue_length(*plan_);
  if (iterations_.size() >= ahead) slot.push_back(iterations_[iterations_.size() - ahead].take);
  marks.load =
      graph_.add(Task{plan_->load, loaders_, plan_->loader_threads * plan_->loader_cores, slot});
  return {marks.load, graph_.add(Task{plan_->storage, storage_, 0, slot})};
}

TaskId IterationGraph::add_message(Seconds time, TaskId after) {
  const bool sequential = plan_->schedule == Schedule::sequential;
  return graph_.add(Task{time, sequential ? training_ : comm_, plan_->comm_cores, {after}});
}

/// Returns what the update waits for.
std::vector<TaskId> IterationGraph::add_backward(Marks& marks) {
  marks.backward = marks.forward;
  std::vector<TaskId> ready_after;
  for (const BackwardPart& part : plan_->backward) {
    marks.backward =
        graph_.add(Task{part.compute, training_, plan_->compute_cores, {marks.backward}});
    ready_after.push_back(marks.backward);
  }
  for (std::size_t i = 0; i < ready_after.size(); ++i) {
    const auto& message = plan_->backward[i].message;
    if (!message) continue;
    const bool sequential = plan_->schedule == Schedule::sequential;
    const TaskId last = marks.messages.empty() ? marks.backward : marks.messages.back();
    marks.messages.push_back(add_message(*message, sequential ? last : ready_after[i]));
  }
  std::vector<TaskId> done = marks.messages;
  done.push_back(marks.backward);
  return done;
}

void IterationGraph::add_iteration() {
  Marks marks;
  std::vector<TaskId> ready = add_input(marks);
  if (!iterations_.empty()) ready.push_back(iterations_.back().update);
  marks.take = graph_.add(Task{Seconds(), {}, 0, std::move(ready)});
  marks.h2d = graph_.add(Task{plan_->h2d, training_, plan_->copy_cores, {marks.take}});
  marks.forward = graph_.add(Task{plan_->forward, training_, plan_->compute_cores, {marks.h2d}});
  marks.update =
      graph_.add(Task{plan_->update, training_, plan_->compute_cores, add_backward(marks)});
  iterations_.push_back(std::move(marks));
}

/// The phases as the engine would time them.
IterationTime phases(const IterationPlan& plan, const Timeline& timeline, const Marks& marks,
                     Seconds start) {
  IterationTime time;
  time.load = plan.loader_threads * plan.load;
  const Seconds computed = timeline.finished(marks.backward);
  const Seconds end = timeline.finished(marks.update);
  time.io = timeline.finished(marks.take) - start;
  time.h2d = timeline.finished(marks.h2d) - timeline.finished(marks.take);
  time.forward = timeline.finished(marks.forward) - timeline.finished(marks.h2d);
  time.backward = computed - timeline.finished(marks.forward);
  time.exposed_comm = timeline.started(marks.update) - computed;
  time.update = end - timeline.started(marks.update);
  time.total = end - start;
  for (const TaskId message : marks.messages) {
    const Seconds hidden_until = std::min(timeline.finished(message), computed);
    time.hidden_comm += std::max(Seconds(), hidden_until - timeline.started(message));
  }
  return time;
}

constexpr Seconds IterationTime::*all_phases[] = {
    &IterationTime::io,       &IterationTime::h2d,          &IterationTime::forward,
    &IterationTime::backward, &IterationTime::exposed_comm, &IterationTime::update,
    &IterationTime::total,    &IterationTime::hidden_comm,  &IterationTime::load};

/// An iteration, and how long before its start its batch was ready.
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

/// How early a batch is there matters only where reading it slows compute down.
Seconds lead(const IterationPlan& plan, const Timeline& timeline, const Marks& marks,
             Seconds start) {
  if (plan.most_cores_wanted() <= plan.cores) return {};
  return start - timeline.finished(marks.load);
}

/// The last `count` of `iterations`. More are simulated, whose batches the loader threads read
/// beside those observed.
std::vector<Observed> last_iterations(const IterationPlan& plan, int iterations, int count) {
  IterationGraph graph(plan);
  for (int k = 0; k <= iterations + static_cast<int>(queue_length(plan)); ++k)
    graph.add_iteration();
  const Timeline timeline = simulate(graph.graph());
  std::vector<Observed> observed;
  for (int k = iterations - count; k < iterations; ++k) {
    const auto i = static_cast<std::size_t>(k);
    const Marks& marks = graph.iterations()[i];
    const Seconds start = timeline.finished(graph.iterations()[i - 1].update);
    observed.push_back({phases(plan, timeline, marks, start), lead(plan, timeline, marks, start)});
  }
  return observed;
}

}  // namespace

/// The first iterations differ, while the queue of batches fills or drains. Where loader threads
/// compete with compute the steady state can be a cycle of several iterations, or be reached
/// slowly: then the mean of the last 32 of 64 stands for it.
IterationTime simulate_iteration(const IterationPlan& plan) {
  EXPECT(plan.loader_threads >= 1 && plan.prefetch >= 1);
  for (int iterations = 8; iterations < 64; iterations *= 2) {
    const auto last = last_iterations(plan, iterations, 3);
    if (alike(last[0], last[2]) && alike(last[1], last[2])) return last.back().time;
  }
  return mean(last_iterations(plan, 64, 32));
}

}  // namespace dlscale::model
