// Messages that travel beside the next forward pass, and what follows the update.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "model/sgd_iter/graph/closed_form.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "tests/model/expect_iteration.hpp"

namespace dlscale::model {
namespace {

/// Parts of backward that each send a message; the next forward waits for each and updates.
IterationPlan late_forward_random_plan(std::mt19937& random, Schedule schedule,
                                       double longest_message) {
  std::uniform_real_distribution<double> time(0.01, 1);
  IterationPlan plan;
  plan.schedule = schedule;
  plan.h2d = Seconds(time(random));
  plan.forward = Seconds(time(random));
  const auto parts = std::uniform_int_distribution<std::size_t>(1, 10)(random);
  for (std::size_t i = 0; i < parts; ++i) {
    BackwardPart part{Seconds(time(random)), Seconds(longest_message * time(random))};
    if (schedule == Schedule::reduce_scatter_overlap) {
      part.gather = Seconds(longest_message * time(random));
    }
    plan.backward.push_back(part);
  }
  for (std::size_t i = parts; i-- > 0;) {
    plan.late.push_back({i, Seconds(0.1 * time(random)), Seconds(time(random))});
  }
  if (std::bernoulli_distribution(0.5)(random)) {
    plan.backward.push_back({Seconds(time(random)), {}});  // after the last message
  }
  return plan;
}

Seconds compute(const IterationPlan& plan) {
  Seconds sum = plan.forward.device;
  for (const ForwardPart& part : plan.late) sum += part.update.device + part.compute.device;
  for (const BackwardPart& part : plan.backward) sum += part.compute.device;
  return sum;
}

Seconds messages(const IterationPlan& plan) {
  Seconds sum;
  for (const BackwardPart& part : plan.backward) {
    sum += part.message.value_or(Seconds()) + part.gather.value_or(Seconds());
    sum += std::accumulate(part.pieces.begin(), part.pieces.end(), Seconds());
  }
  return sum;
}

TEST(Gathers, BesideTheNextForwardEqualTheClosedForm) {
  std::mt19937 random(31);
  int bound_by_input = 0;
  int without_form = 0;
  for (const double longest : {0.2, 1.0, 3.0}) {
    for (int trial = 0; trial < 150; ++trial) {
      IterationPlan plan =
          late_forward_random_plan(random, Schedule::reduce_scatter_overlap, longest);
      if (trial % 3 == 1) plan.input_copy = InputCopy::ahead;
      if (trial % 3 == 2) plan.load = Seconds(10);
      const IterationTime simulated = simulate_iteration(plan);
      expect_phases_add_up(simulated);
      std::string why;
      const auto expected = closed_form(plan, why);
      if (!expected) {  // the copy of a batch, taken late, is waited for
        ASSERT_EQ(plan.input_copy, InputCopy::ahead) << why;
        ++without_form;
        continue;
      }
      expect_equal(simulated, *expected);
      bound_by_input += simulated.io > Seconds() ? 1 : 0;
    }
  }
  EXPECT_GT(bound_by_input, 20);
  EXPECT_LT(without_form, 50);
}

TEST(Gathers, ThatCostNothingLeaveWhatWaitFreeMessagesOfHalfTheTimeCost) {
  std::mt19937 random(32);
  for (int trial = 0; trial < 100; ++trial) {
    IterationPlan plan = late_forward_random_plan(random, Schedule::reduce_scatter_overlap, 2);
    plan.h2d = plan.forward = Seconds();  // which would overlap with the wait for messages
    for (BackwardPart& part : plan.backward) {
      if (part.gather) part.gather = Seconds();
    }
    IterationPlan wait_free = plan;
    wait_free.schedule = Schedule::wait_free;
    wait_free.late.clear();
    for (BackwardPart& part : wait_free.backward) part.gather.reset();
    for (const ForwardPart& part : plan.late) {
      wait_free.forward = wait_free.forward.then(part.compute);
      wait_free.update = wait_free.update.then(part.update);
    }
    const IterationTime expected = simulate_iteration(wait_free);
    const IterationTime time = simulate_iteration(plan);
    EXPECT_NEAR(time.total.si(), expected.total.si(), 1e-12 * expected.total.si());
    EXPECT_NEAR(time.exposed_comm.si(), expected.exposed_comm.si(), 1e-12 * expected.total.si());
  }
}

TEST(Gathers, StayBetweenTheBoundAndNoOverlapAtAll) {
  std::mt19937 random(33);
  for (int trial = 0; trial < 100; ++trial) {
    const IterationPlan plan =
        late_forward_random_plan(random, Schedule::reduce_scatter_overlap, 2);
    const double total = simulate_iteration(plan).total.si();
    EXPECT_LE(total, (compute(plan) + plan.h2d.device + messages(plan)).si() * (1 + 1e-12));
    EXPECT_GE(total, std::max(compute(plan), messages(plan)).si() * (1 - 1e-12));
  }
}

TEST(Gathers, FollowTheUpdateWhereForwardDoesNotWaitForThem) {
  std::mt19937 random(34);
  for (const Schedule schedule : {Schedule::sequential, Schedule::wait_free}) {
    for (const bool ahead : {false, true}) {
      for (int trial = 0; trial < 100; ++trial) {
        IterationPlan plan = late_forward_random_plan(random, Schedule::reduce_scatter_overlap, 1);
        plan.schedule = schedule;
        plan.late.clear();
        plan.update = Seconds(0.25);
        if (ahead) plan.input_copy = InputCopy::ahead;
        if (trial % 2 == 1) plan.load = Seconds(5);
        expect_closed_form(plan);
      }
    }
  }
}

TEST(Gathers, ShowInFullAfterTheUpdate) {
  IterationPlan plan;
  plan.forward = Seconds(1);
  plan.backward = {{Seconds(1), Seconds(0.5)}, {Seconds(1), Seconds(0.25)}};
  plan.backward[0].gather = Seconds(0.5);
  plan.backward[1].gather = Seconds(0.25);
  plan.update = Seconds(0.125);
  const IterationTime time = simulate_iteration(plan);
  EXPECT_EQ(time.total.si(), 4.125);  // 3 s, 0.25 s of messages, the update, both gathers
  EXPECT_EQ(time.exposed_comm.si(), 1);
  EXPECT_EQ(time.hidden_comm.si(), 0.5);
  EXPECT_EQ(time.update.si(), 0.125);
}

/// Each message in pieces of a quarter.
IterationPlan in_pieces(IterationPlan plan) {
  for (BackwardPart& part : plan.backward) {
    if (!part.message) continue;
    *part.message = *part.message / 4;
    part.pieces.assign(3, *part.message);
  }
  return plan;
}

TEST(Pieces, NeverGetBelowTheBoundNorAboveNoOverlapAtAll) {
  std::mt19937 random(35);
  for (const double longest : {0.2, 1.0, 3.0}) {
    for (const int window : {1, 4}) {
      for (int trial = 0; trial < 50; ++trial) {
        IterationPlan plan =
            in_pieces(late_forward_random_plan(random, Schedule::priority, longest));
        plan.window = window;
        const IterationTime time = simulate_iteration(plan);
        expect_phases_add_up(time);
        const Seconds bound = std::max(compute(plan), messages(plan));
        EXPECT_GE(time.total.si(), bound.si() * (1 - 1e-12));
        EXPECT_LE(time.total.si(),
                  (compute(plan) + messages(plan) + plan.h2d.device).si() * (1 + 1e-12));
      }
    }
  }
}

TEST(Pieces, OfTheFirstLayerOvertakeThoseThatWait) {
  // Backward 1 s and 1 s; the last layer's message takes 8 s, the first layer's 1 s.
  IterationPlan plan;
  plan.schedule = Schedule::priority;
  plan.backward = {{Seconds(1), Seconds(1)}, {Seconds(1), Seconds(1)}};
  plan.backward[0].pieces.assign(7, Seconds(1));
  plan.late = {{1, {}, Seconds(1)}, {0, {}, Seconds(1)}};
  const IterationTime time = simulate_iteration(plan);
  // Pieces leave from 1 s on; at 2 s backward ends and the first layer's piece goes next, to 3 s;
  // its forward to 4 s; the other seven until 10 s, then the last layer's forward.
  EXPECT_NEAR(time.total.si(), 11, 1e-9);
  EXPECT_NEAR(time.exposed_comm.si(), 1 + 6, 1e-9);
  plan.window = 3;  // two more of the last layer go before
  EXPECT_NEAR(simulate_iteration(plan).total.si(), 11, 1e-9);
  EXPECT_NEAR(simulate_iteration(plan).exposed_comm.si(), 3 + 4, 1e-9);
}

TEST(Pieces, ShowTheChoiceOfTheNextWhereNothingElseTravels) {
  IterationPlan plan;
  plan.schedule = Schedule::priority;
  plan.backward = {{Seconds(1), Seconds(1)}};
  plan.backward[0].pieces.assign(7, Seconds(1));
  plan.late = {{0, {}, Seconds(1)}};
  plan.choice = Seconds(0.125);
  EXPECT_NEAR(simulate_iteration(plan).total.si(), 1 + 8 * 1.125 + 1, 1e-9);
  plan.window = 2;
  EXPECT_NEAR(simulate_iteration(plan).total.si(), 1 + 0.125 + 8 + 1, 1e-9);
}

TEST(Pieces, HaveNoClosedFormAndSayWhy) {
  std::mt19937 random(36);
  expect_no_closed_form(in_pieces(late_forward_random_plan(random, Schedule::priority, 1)),
                        "only a bound");
}

TEST(LateForward, WaitsForNothingInTheFirstIterationOnly) {
  // A message that takes longer than all compute sets the pace of those that follow.
  IterationPlan plan;
  plan.schedule = Schedule::priority;
  plan.backward = {{Seconds(1), Seconds(50)}};
  plan.late = {{0, {}, Seconds(1)}};
  const IterationTime time = simulate_iteration(plan);
  EXPECT_NEAR(time.total.si(), 52, 1e-9);
  EXPECT_NEAR(time.exposed_comm.si(), 50, 1e-9);
  EXPECT_NEAR(time.hidden_comm.si(), 0, 1e-9);
}

TEST(LateForward, LetsAHostThatIsSlowWaitToo) {
  IterationPlan plan;
  plan.schedule = Schedule::priority;
  plan.backward = {{LaunchedWork::step(Seconds(0.5), Seconds(1)), Seconds(4)}};
  plan.late = {{0, {}, LaunchedWork::step(Seconds(0.5), Seconds(1))}};
  // The message is there 4 s after backward; only then does the host give forward, 0.5 s.
  EXPECT_NEAR(simulate_iteration(plan).total.si(), 6.5, 1e-9);
}

}  // namespace
}  // namespace dlscale::model
