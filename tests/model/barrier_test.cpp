// Ranks that meet before a message: the task graph, and its closed forms.
#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/sgd_iter/graph/closed_form.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/graph/task_graph.hpp"
#include "tests/model/expect_iteration.hpp"

namespace dlscale::model {
namespace {

LaunchedWork meeting_convolution(double seconds) {
  return LaunchedWork::step(Seconds(), Seconds(seconds), WorkKind::conv);
}

/// Backward 2 s and 3 s, messages of 1 s and 0.5 s that ranks meet before for 0.25 s, forward 1 s.
IterationPlan meeting_two_layers() {
  IterationPlan plan;
  plan.forward = meeting_convolution(1);
  plan.backward = {{meeting_convolution(2), Seconds(1)}, {meeting_convolution(3), Seconds(0.5)}};
  plan.barrier = Seconds(0.25);
  return plan;
}

/// And the closed form the same.
void expect_times(const IterationPlan& plan, double backward, double exposed, double hidden) {
  const IterationTime time = simulate_iteration(plan);
  EXPECT_NEAR(time.backward.si(), backward, 1e-12);
  EXPECT_NEAR(time.exposed_comm.si(), exposed, 1e-12);
  EXPECT_NEAR(time.hidden_comm.si(), hidden, 1e-12);
  expect_closed_form(plan);
}

TEST(Meetings, ComeBeforeEachMessageBesideBackward) {
  expect_times(meeting_two_layers(), 5, 0.75, 1.25);
}

TEST(Meetings, ComeOnceBeforeMessagesThatFollowBackward) {
  IterationPlan plan = meeting_two_layers();
  plan.schedule = Schedule::sequential;
  expect_times(plan, 5, 1.75, 0);
}

TEST(Meetings, ComeOnceBeforeGathersThatEndAnIteration) {
  IterationPlan plan = meeting_two_layers();
  for (BackwardPart& part : plan.backward) part.gather = Seconds(0.125);
  expect_times(plan, 5, 0.75 + 0.25 + 2 * 0.125, 1.25);
  plan.schedule = Schedule::sequential;
  expect_times(plan, 5, 1.75 + 0.25 + 2 * 0.125, 0);
}

TEST(Meetings, AreNotSlowedAndSlowNothing) {
  IterationPlan plan = meeting_two_layers();
  ContentionByWork alike;
  alike.fill({2, 1.5});
  plan.contention = {alike};
  // Beside a meeting 0.25 s are computed, beside the message 0.75 s in 1.5 s.
  expect_times(plan, 5.75, 0.75, 1.75);
}

TEST(Meetings, LeaveTheCoreToComputing) {
  IterationPlan plan = meeting_two_layers();
  plan.cores = plan.compute_cores = plan.comm_cores = 1;
  // The message of 1 s takes 2 s of the core it shares, in which 1 s is computed.
  const IterationTime time = simulate_iteration(plan);
  EXPECT_NEAR(time.backward.si(), 2 + 0.25 + 2 + 1.75, 1e-12);
  EXPECT_NEAR(time.exposed_comm.si(), 0.75, 1e-12);
}

TEST(Meetings, ComeBeforeVotes) {
  const auto message = [](Bytes size) { return Seconds(0.1 + 0.1 * size.si()); };
  Packing packing{Seconds(1), Bytes(100), Seconds(0.05), 0, message, 3};
  packing.barrier = Seconds(0.1);
  // Ready at 1, 2, 3 s; looks at 1.5, 2.5 and 3.5 s find one each, which takes 0.5 s.
  const std::vector<Seconds> backward(3, Seconds(1));
  const std::vector<Bytes> sizes(3, Bytes(4));
  const PackedBackward found = packed_recurrence(backward, sizes, packing, Seconds(-0.5));
  EXPECT_NEAR(found.finish.si(), 3.5 + 0.15 + 0.5, 1e-12);
  EXPECT_NEAR(found.hidden.si(), 0.5 + 0.35, 1e-12);
  EXPECT_NEAR(found.last_look.si(), 3.5, 1e-12);
}

TEST(Meetings, AreOfTasksOfOneServerAlone) {
  TaskGraph graph;
  const ResourceId two = graph.add(Resource{"two", 2});
  Task task{Seconds(1), two, 0, {}};
  task.barrier = Seconds(1);
  EXPECT_THROW(graph.add(task), std::logic_error);
  task.resource.reset();
  EXPECT_THROW(graph.add(task), std::logic_error);
}

/// Of a schedule without pieces, on as many cores as are wanted.
class RandomPlans : public testing::TestWithParam<Schedule> {
 protected:
  [[nodiscard]] Seconds time() { return Seconds(time_(random_)); }
  [[nodiscard]] bool coin() { return std::bernoulli_distribution(0.6)(random_); }

  IterationPlan draw() {
    IterationPlan plan;
    plan.schedule = GetParam();
    plan.h2d = 0.1 * time();
    plan.forward = time();
    plan.barrier = time();
    const bool late = plan.schedule == Schedule::reduce_scatter_overlap;
    const bool gathers = late || (plan.schedule != Schedule::horovod && coin());
    if (!late) plan.update = time();
    if (coin()) plan.input_copy = InputCopy::ahead;
    for (int i = std::uniform_int_distribution<int>(1, 10)(random_); i > 0; --i) {
      BackwardPart part{LaunchedWork::step(Seconds(), time(), WorkKind::conv), {}};
      if (late || coin()) {
        part.message = time();
        part.size = Bytes(10 * time().si());
        if (gathers) part.gather = time();
      }
      plan.backward.push_back(part);
    }
    if (plan.schedule == Schedule::horovod) pack(plan);
    for (std::size_t i = late ? plan.backward.size() : 0; i-- > 0;) {
      plan.late.push_back({i, time(), time()});
    }
    return plan;
  }

  void pack(IterationPlan& plan) {
    const auto message = [](Bytes size) { return Seconds(0.1 + 0.1 * size.si()); };
    Packing packing{2 * time(), 20 * Bytes(time().si()), 0.2 * time(), 0, message, 0};
    packing.barrier = 0.2 * time();
    for (const BackwardPart& part : plan.backward) packing.messages += part.message ? 1 : 0;
    plan.packing = packing;
  }

  std::mt19937 random_{81};
  std::uniform_real_distribution<double> time_{0.01, 1};
};

TEST_P(RandomPlans, WithMeetingsEqualTheirClosedForm) {
  int without_form = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const IterationPlan plan = draw();
    const IterationTime simulated = simulate_iteration(plan);
    expect_phases_add_up(simulated);
    std::string why;
    const auto expected = closed_form(plan, why);
    if (!expected) {  // the copy of a batch, taken late, is waited for
      ASSERT_EQ(plan.schedule, Schedule::reduce_scatter_overlap) << why;
      ++without_form;
      continue;
    }
    expect_equal(simulated, *expected, 1e-10);
  }
  EXPECT_LT(without_form, 100);
}

/// Those that have a closed form beside contention.
class ContendedPlans : public RandomPlans {};

TEST_P(ContendedPlans, WithMeetingsEqualTheirClosedForm) {
  for (int trial = 0; trial < 200; ++trial) {
    IterationPlan plan = draw();
    for (Contention& one : plan.contention.emplace_back()) {
      one = {1 + 3 * time().si(), 1 + 3 * time().si()};
    }
    std::string why;
    const auto expected = closed_form(plan, why);
    ASSERT_TRUE(expected) << why;
    expect_equal(simulate_iteration(plan), *expected, 1e-9);
  }
}

TEST_P(RandomPlans, LastNoLessWithMeetingsThanWithout) {
  for (int trial = 0; trial < 100; ++trial) {
    IterationPlan plan = draw();
    if (plan.packing) continue;  // whose looks come at another phase of the iteration
    const double total = simulate_iteration(plan).total.si();
    plan.barrier = Seconds();
    EXPECT_GE(total, simulate_iteration(plan).total.si() * (1 - 1e-12));
  }
}

constexpr auto name_of = [](const testing::TestParamInfo<Schedule>& schedule) {
  return std::string(schedule_name(schedule.param));
};

INSTANTIATE_TEST_SUITE_P(Meetings, RandomPlans,
                         testing::Values(Schedule::sequential, Schedule::wait_free,
                                         Schedule::horovod, Schedule::reduce_scatter_overlap),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Meetings, ContendedPlans,
                         testing::Values(Schedule::sequential, Schedule::wait_free), name_of);

}  // namespace
}  // namespace dlscale::model
