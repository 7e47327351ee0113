// Published traces and tables.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "core/network/merge.hpp"
#include "model/sgd_iter/graph/closed_form.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "tests/model/googlenet_trace.hpp"

namespace dlscale::model {
namespace {

/// Finish of backward and communication in ms, computed from this trace and that cost (MODEL 2.1):
/// of a message a layer, of one message, of those merged by the published rule and by (2.3), and
/// how many these are.
struct Golden {
  const char* id;
  int nodes;
  double wait_free;
  double single_message;
  double greedy;
  std::size_t greedy_groups;
  double optimal;
  std::size_t optimal_groups;
};
constexpr Golden goldens[] = {{"C033", 2, 205.600, 325.575, 205.600, 33, 205.600, 33},
                              {"C034", 4, 205.824, 385.786, 205.824, 10, 205.824, 10},
                              {"C035", 8, 256.901, 416.163, 215.538, 6, 215.224, 6},
                              {"C036", 16, 318.245, 431.894, 234.325, 6, 234.261, 6},
                              {"C037", 32, 418.421, 440.846, 260.840, 5, 247.557, 5},
                              {"C038", 64, 607.516, 447.494, 380.298, 2, 265.788, 5}};

class GoogLeNetTrace : public testing::Test {
 protected:
  [[nodiscard]] static std::vector<Seconds> comm(int nodes) {
    std::vector<Seconds> result;
    for (const TracedLayer& layer : googlenet_k80) {
      result.push_back(googlenet_all_reduce(nodes, layer.parameters));
    }
    return result;
  }
  /// Finish of backward and messages in ms by (1.9) over groups and by the task graph.
  void expect_finish(const Groups& groups, const LinearCost& cost, double expected,
                     const char* id) const {
    IterationPlan plan;
    std::vector<Seconds> compute;
    std::vector<Seconds> messages;
    std::size_t next = 0;
    for (const std::size_t count : groups) {
      Bytes size;
      Seconds time;
      for (const std::size_t end = next + count; next < end; ++next) {
        size += gradients_[next].bytes;
        time += backward_[next];
      }
      compute.push_back(time);
      messages.push_back(cost(size));
      plan.backward.push_back({time, cost(size)});
    }
    const double form = wait_free_closed_form(compute, messages).finish.si();
    EXPECT_NEAR(form * 1e3, expected, 1e-3) << id;
    const IterationTime time = simulate_iteration(plan);
    EXPECT_NEAR((time.backward + time.exposed_comm).si(), form, 1e-12 * form) << id;
  }
  /// In order of execution: last layer first.
  std::vector<Seconds> backward_ = googlenet_backward();
  std::vector<ReadyGradient> gradients_ = googlenet_gradients();
};

TEST_F(GoogLeNetTrace, HasTheParametersThatItsAuthorsCount) {
  double parameters = 0;
  for (const TracedLayer& layer : googlenet_k80) parameters += layer.parameters;
  EXPECT_EQ(std::size(googlenet_k80), 64U);
  EXPECT_EQ(parameters, 13379136);
}

TEST_F(GoogLeNetTrace, GivesTheGoldenFinishOfMergedMessages) {
  for (const Golden& golden : goldens) {
    const LinearCost cost = googlenet_cost(golden.nodes);
    const Groups greedy = merge_greedily(gradients_, cost);
    EXPECT_EQ(greedy.size(), golden.greedy_groups) << golden.id;
    expect_finish(greedy, cost, golden.greedy, golden.id);
    const Groups optimal = merge_optimally(gradients_, cost);
    expect_finish(optimal, cost, golden.optimal, golden.id);
    EXPECT_EQ(optimal.size(), golden.optimal_groups) << golden.id;
  }
}

TEST_F(GoogLeNetTrace, GivesTheGoldenFinishOfWaitFreeBackward) {
  for (const Golden& golden : goldens) {
    const auto messages = comm(golden.nodes);
    EXPECT_NEAR(wait_free_closed_form(backward_, messages).finish.si() * 1e3, golden.wait_free,
                1e-3)
        << golden.id;
    EXPECT_NEAR(wait_free_recurrence(backward_, messages).finish.si() * 1e3, golden.wait_free, 1e-3)
        << golden.id;
  }
}

TEST_F(GoogLeNetTrace, GivesTheSameFinishInTheTaskGraph) {
  for (const Golden& golden : goldens) {
    const auto messages = comm(golden.nodes);
    IterationPlan plan;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      plan.backward.push_back({backward_[i], messages[i]});
    }
    const IterationTime time = simulate_iteration(plan);
    EXPECT_NEAR((time.backward + time.exposed_comm).si() * 1e3, golden.wait_free, 1e-3)
        << golden.id;
  }
}

TEST_F(GoogLeNetTrace, GivesTheGoldenFinishOfASingleMessage) {
  const Seconds backward = std::accumulate(backward_.begin(), backward_.end(), Seconds());
  for (const Golden& golden : goldens) {
    const Seconds message = googlenet_all_reduce(golden.nodes, 13379136);
    EXPECT_NEAR((backward + message).si() * 1e3, golden.single_message, 1e-3) << golden.id;
  }
}

}  // namespace
}  // namespace dlscale::model
