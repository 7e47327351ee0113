// The trace of a published training.
#include <gtest/gtest.h>

#include <vector>

#include "core/network/merge.hpp"
#include "model/sgd_iter/graph/closed_form.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "tests/model/googlenet_trace.hpp"
#include "tests/model/independent_forms.hpp"

namespace dlscale::model {
namespace {

class GoogLeNetTrace : public testing::Test {
 protected:
  /// Finish of backward and messages by the recurrence, the closed form and the task graph, which
  /// published_figures_test holds to published figures.
  void expect_same_finish(const Groups& groups, const LinearCost& cost) const {
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
    const double expected = last_arrival(gradients_, groups, cost).si();
    const double rounding = 1e-12 * expected;
    EXPECT_NEAR(wait_free_recurrence(compute, messages).finish.si(), expected, rounding);
    EXPECT_NEAR(wait_free_closed_form(compute, messages).finish.si(), expected, rounding);
    const IterationTime time = simulate_iteration(plan);
    EXPECT_NEAR((time.backward + time.exposed_comm).si(), expected, rounding);
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

TEST_F(GoogLeNetTrace, HasTheSameFinishByEveryForm) {
  for (const int nodes : {2, 4, 8, 16, 32, 64}) {
    SCOPED_TRACE(nodes);
    const LinearCost cost = googlenet_cost(nodes);
    for (const Groups& groups :
         {Groups(gradients_.size(), 1), Groups{gradients_.size()}, merge_greedily(gradients_, cost),
          merge_optimally(gradients_, cost)}) {
      expect_same_finish(groups, cost);
    }
  }
}

}  // namespace
}  // namespace dlscale::model
