// The steady state that simulate_iteration() finds by following iterations, computed instead: tasks
// that each have a resource to themselves in a fixed order are a timed event graph, whose period is
// the largest ratio of a cycle of it, work over iterations that it leads on. [Baccelli, Cohen,
// Olsder & Quadrat, Synchronization and Linearity (1992), 3.2]
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include "model/sgd_iter/graph/iteration_graph.hpp"
#include "tests/model/random_plan.hpp"

namespace dlscale::model {
namespace {

/// A task of an iteration starts when another, so many iterations before, has done its work.
struct Edge {
  std::size_t from;
  std::size_t to;
  double work;
  double iterations;
};

/// The edges between the tasks of one iteration of many.
class SteadyGraph {
 public:
  explicit SteadyGraph(const IterationPlan& plan) : graph_(plan) {
    for (std::size_t k = 0; k <= steady; ++k) graph_.add_iteration();
    for (std::size_t task = begin(steady); task < graph_.ends()[steady]; ++task) {
      for (const TaskId before : task_of(task).after) {
        const std::size_t of = iteration(before.index());
        add(before.index() - begin(of), task - begin(steady), static_cast<double>(steady - of));
      }
    }
    for (std::size_t i = 0; i < graph_.graph().resources().size(); ++i) add_order(ResourceId(i));
  }

  /// By cycles of ever larger ratio: as long as there is one above the last.
  [[nodiscard]] double period() const {
    double ratio = 0;
    for (;;) {
      const std::vector<std::size_t> cycle = cycle_above(ratio);
      if (cycle.empty()) return ratio;
      double work = 0;
      double iterations = 0;
      for (const std::size_t edge : cycle) {
        work += edges_[edge].work;
        iterations += edges_[edge].iterations;
      }
      ratio = work / iterations;
    }
  }

 private:
  static constexpr std::size_t steady = 10;  // by when all queues have been filled once
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  [[nodiscard]] const Task& task_of(std::size_t task) const { return graph_.graph().tasks()[task]; }
  [[nodiscard]] std::size_t begin(std::size_t k) const { return graph_.ends()[k - 1]; }
  [[nodiscard]] std::size_t tasks() const { return graph_.ends()[steady] - begin(steady); }
  [[nodiscard]] std::size_t iteration(std::size_t task) const {
    std::size_t k = 0;
    while (task >= graph_.ends()[k]) ++k;
    return k;
  }
  /// `from` and `to` count from the first task of their iterations.
  void add(std::size_t from, std::size_t to, double iterations) {
    const Task& task = task_of(begin(steady) + from);
    edges_.push_back({from, to, (task.barrier + task.work).si(), iterations});
  }
  /// It serves its tasks one after the other, the last before the first of the next iteration.
  void add_order(ResourceId resource) {
    std::vector<std::size_t> served;
    for (std::size_t task = 0; task < tasks(); ++task) {
      if (task_of(begin(steady) + task).resource == resource) served.push_back(task);
    }
    for (std::size_t i = 1; i < served.size(); ++i) add(served[i - 1], served[i], 0);
    if (!served.empty()) add(served.back(), served.front(), 1);
  }

  /// The edges of a cycle of a larger ratio, by Bellman and Ford: it lengthens paths for ever.
  [[nodiscard]] std::vector<std::size_t> cycle_above(double ratio) const {
    std::vector<double> longest(tasks());
    std::vector<std::size_t> by(tasks(), none);
    std::size_t last = none;
    for (std::size_t pass = 0; pass <= tasks(); ++pass) {
      last = none;
      for (std::size_t i = 0; i < edges_.size(); ++i) {
        const auto& [from, to, work, iterations] = edges_[i];
        const double length = longest[from] + work - ratio * iterations;
        if (length <= longest[to] + 1e-11) continue;
        longest[to] = length;
        by[to] = i;
        last = to;
      }
      if (last == none) return {};
    }
    for (std::size_t i = 0; i < tasks(); ++i) last = edges_[by[last]].from;  // onto the cycle
    std::vector<std::size_t> cycle;
    std::size_t at = last;
    do {
      cycle.push_back(by[at]);
      at = edges_[by[at]].from;
    } while (at != last);
    return cycle;
  }

  IterationGraph graph_;
  std::vector<Edge> edges_;
};

void expect_period(const IterationPlan& plan) {
  const double period = SteadyGraph(plan).period();
  EXPECT_NEAR(simulate_iteration(plan).total.si(), period, 1e-9 * period);
}

TEST(Period, IsTheLargestRatioOfACycle) {
  std::mt19937 random(51);
  for (const Schedule schedule : {Schedule::sequential, Schedule::wait_free, Schedule::bucketed}) {
    for (int trial = 0; trial < 40; ++trial) {
      IterationPlan plan = random_plan(random, schedule);
      if (trial % 2 == 1) plan.input_copy = InputCopy::ahead;
      SCOPED_TRACE(trial);
      expect_period(plan);
    }
  }
}

TEST(Period, IsThatWithGathersBesideTheNextForwardToo) {
  std::mt19937 random(52);
  for (int trial = 0; trial < 40; ++trial) {
    IterationPlan plan = random_gathered_plan(random);
    if (trial % 2 == 1) plan.input_copy = InputCopy::ahead;
    SCOPED_TRACE(trial);
    expect_period(plan);
  }
}

/// Of a host that gives work step by step, which has no closed form.
TEST(Period, IsThatOfAHostThatGivesWorkToo) {
  std::mt19937 random(53);
  std::uniform_real_distribution<double> time(0.01, 1);
  const auto given = [&](const LaunchedWork& work) {
    const Seconds host(time(random));
    LaunchedWork one(work.device);
    one.host = host;
    one.together = std::max(host, work.device) + 0.1 * host;
    return one;
  };
  for (int trial = 0; trial < 40; ++trial) {
    IterationPlan plan = random_plan(random, Schedule::wait_free);
    plan.input_copy = InputCopy::ahead;
    plan.forward = given(plan.forward);
    plan.update = given(plan.update);
    for (BackwardPart& part : plan.backward) part.compute = given(part.compute);
    SCOPED_TRACE(trial);
    expect_period(plan);
  }
}

}  // namespace
}  // namespace dlscale::model
