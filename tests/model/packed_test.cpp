// Messages that are packed at looks, as the background thread of Horovod does.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "model/sgd_iter/graph/closed_form.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "tests/model/expect_iteration.hpp"
#include "tests/model/independent_forms.hpp"

namespace dlscale::model {
namespace {

std::vector<Seconds> packed_seconds(std::initializer_list<double> values) {
  std::vector<Seconds> result;
  for (const double value : values) result.emplace_back(value);
  return result;
}

/// A message of `size` takes 0.1 s and 0.1 s a byte.
Seconds message_time(Bytes size) {
  return Seconds(0.1 + 0.1 * size.si());
}

Packing packing(double cycle, double threshold, double vote) {
  return {Seconds(cycle), Bytes(threshold), Seconds(vote), 0, message_time, 0};
}

/// The same for the messages of a plan.
Packing packing_of(const IterationPlan& plan, double cycle, double threshold, double vote) {
  Packing result = packing(cycle, threshold, vote);
  for (const BackwardPart& part : plan.backward) result.messages += part.message ? 1 : 0;
  return result;
}

/// Without input to wait for.
IterationPlan packed_random_plan(std::mt19937& random) {
  std::uniform_real_distribution<double> time(0.01, 1);
  std::bernoulli_distribution has_message(0.7);
  IterationPlan plan;
  plan.schedule = Schedule::horovod;
  plan.h2d = Seconds(0.1 * time(random));
  plan.forward = Seconds(time(random));
  plan.update = Seconds(time(random));
  const int parts = std::uniform_int_distribution<int>(1, 12)(random);
  for (int i = 0; i < parts; ++i) {
    BackwardPart part{Seconds(time(random)), {}};
    if (has_message(random)) {
      part.size = Bytes(10 * time(random));
      part.message = message_time(part.size);
    }
    plan.backward.push_back(part);
  }
  return plan;
}

struct Lists {
  std::vector<Seconds> compute;
  std::vector<Seconds> messages;
  std::vector<Bytes> sizes;
  explicit Lists(const IterationPlan& plan) {
    for (const BackwardPart& part : plan.backward) {
      compute.push_back(part.compute.device);
      messages.push_back(part.message.value_or(Seconds()));
      sizes.push_back(part.size);
    }
  }
};

TEST(PackedMessages, SimulatedEqualTheRecurrence) {
  std::mt19937 random(21);
  std::uniform_real_distribution<double> setting(0.01, 1);
  for (int trial = 0; trial < 300; ++trial) {
    IterationPlan plan = packed_random_plan(random);
    if (trial % 2 == 1) plan.input_copy = InputCopy::ahead;
    plan.packing =
        packing_of(plan, 4 * setting(random), 20 * setting(random), 0.2 * setting(random));
    expect_closed_form(plan);
  }
}

TEST(PackedMessages, TravelAsWaitFreeOnesWhereNothingWaitsAndNothingIsPacked) {
  std::mt19937 random(22);
  for (int trial = 0; trial < 100; ++trial) {
    IterationPlan plan = packed_random_plan(random);
    const Lists lists(plan);
    const auto each = packed_recurrence(lists.compute, lists.sizes, packing(0, 0, 0), Seconds());
    const auto expected = wait_free_recurrence(lists.compute, lists.messages);
    EXPECT_NEAR(each.finish.si(), expected.finish.si(), 1e-12 * expected.finish.si());
    const double wait_free = simulate_iteration(plan).total.si();
    plan.packing = packing_of(plan, 0, 0, 0);
    EXPECT_NEAR(simulate_iteration(plan).total.si(), wait_free, 1e-12 * wait_free);
  }
}

TEST(PackedMessages, TravelAsOneAfterALookThatComesAfterBackward) {
  std::mt19937 random(23);
  for (int trial = 0; trial < 50; ++trial) {
    const Lists lists(packed_random_plan(random));
    Bytes all;
    for (const Bytes size : lists.sizes) all += size;
    if (all == Bytes()) continue;
    const auto one =
        packed_recurrence(lists.compute, lists.sizes, packing(1000, 1e9, 0.25), Seconds(-900));
    EXPECT_NEAR(one.finish.si(), (Seconds(100.25) + message_time(all)).si(), 1e-10);
    EXPECT_EQ(one.hidden.si(), 0);
    EXPECT_EQ(one.last_look.si(), 100);
  }
}

TEST(PackedMessages, HaveTheFinishOfALookInTheMiddle) {
  // Ready at 1, 2, 3 s, 4 B each: 0.5 s alone, 0.9 s together.
  const auto backward = packed_seconds({1, 1, 1});
  const std::vector<Bytes> sizes(3, Bytes(4));
  // Looks at 1.5, 2.5, 3.5 s find one each.
  const auto each = packed_recurrence(backward, sizes, packing(1, 100, 0), Seconds(-0.5));
  EXPECT_NEAR(each.finish.si(), 4.0, 1e-12);
  EXPECT_NEAR(each.messages.si(), 1.5, 1e-12);
  EXPECT_NEAR(each.hidden.si(), 1.0, 1e-12);
  // One at 2.4 s finds two, which take until 3.3 s; the next, at 4.4 s, the third.
  const auto two = packed_recurrence(backward, sizes, packing(2, 100, 0), Seconds(-1.6));
  EXPECT_NEAR(two.finish.si(), 4.9, 1e-12);
  EXPECT_NEAR(two.messages.si(), 1.4, 1e-12);
  EXPECT_NEAR(two.hidden.si(), 0.6, 1e-12);
  EXPECT_NEAR(two.exposed.si(), 1.9, 1e-12);
  EXPECT_NEAR(two.last_look.si(), 4.4, 1e-12);
}

TEST(PackedMessages, WaitForLessThanACycle) {
  // One message at the end of backward, in iterations that are no multiple of the cycle.
  IterationPlan plan;
  plan.schedule = Schedule::horovod;
  plan.forward = Seconds(1 + 0.6180339887);
  plan.backward = {{Seconds(2), message_time(Bytes(1)), Bytes(1)}};
  plan.packing = packing_of(plan, 0.1, 1, 0);
  const double waited = simulate_iteration(plan).exposed_comm.si() - 0.2;
  EXPECT_GT(waited, 0);
  EXPECT_LT(waited, 0.1);
}

TEST(PackedMessages, HaveNoClosedFormWhereInputIsWaitedForAndSayWhy) {
  std::mt19937 random(24);
  IterationPlan plan = packed_random_plan(random);
  plan.packing = packing_of(plan, 1, 1, 0);
  plan.load = Seconds(1000);
  expect_no_closed_form(plan, "input");
}

TEST(PackedMessages, AreNotSentByOneRankAlone) {
  IterationPlan plan;
  plan.schedule = Schedule::horovod;
  plan.forward = Seconds(1);
  plan.backward = {{Seconds(2), {}}};
  plan.packing = packing(1, 1, 0.5);
  EXPECT_NEAR(simulate_iteration(plan).total.si(), 3, 1e-12);
}

TEST(PackedMessages, AreVotedOnBesideBackwardAndNotBesideForward) {
  IterationPlan plan;
  plan.schedule = Schedule::horovod;
  plan.cores = plan.compute_cores = plan.comm_cores = 1;
  plan.forward = Seconds(1);
  plan.backward = {{Seconds(0.5), message_time(Bytes(1)), Bytes(1)},
                   {Seconds(2), message_time(Bytes(1)), Bytes(1)}};
  const double undisturbed = simulate_iteration(plan).total.si();
  plan.packing = packing_of(plan, 0.1, 1, 0.01);
  plan.packing->cores = 1;
  // After the first message, a tenth of the core goes into votes; the last waits for a look.
  const IterationTime time = simulate_iteration(plan);
  EXPECT_NEAR(time.forward.si(), 1, 1e-9);
  EXPECT_GT(time.total.si(), undisturbed + 0.15);
  EXPECT_LT(time.total.si(), undisturbed + 0.5);
}

}  // namespace
}  // namespace dlscale::model
