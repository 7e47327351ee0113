// The batched closed form against closed_form() and the task graph, on random iterations.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "core/network/merge.hpp"
#include "model/plan/batched_form.hpp"
#include "model/plan/placed_messages.hpp"
#include "model/sgd_iter/messages/message_time.hpp"
#include "tests/core/support.hpp"
#include "tests/model/expect_iteration.hpp"

namespace dlscale::model {
namespace {

using Random = std::mt19937;

double between(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

/// A time that is nothing now and then.
double some_time(Random& random, double most) {
  return random() % 5 == 0 ? 0 : between(random, 0, most);
}

/// One message a gradient, now and then two gradients at once.
IterationPlan random_plan(Random& random) {
  IterationPlan plan;
  plan.storage = Seconds(some_time(random, 20));
  plan.load = Seconds(some_time(random, 20));
  plan.h2d = Seconds(some_time(random, 3));
  plan.forward = Seconds(between(random, 0.1, 5));
  plan.update = Seconds(some_time(random, 2));
  plan.input_copy = random() % 2 == 0 ? InputCopy::ahead : InputCopy::on_path;
  const std::size_t gradients = 1 + random() % 12;
  for (std::size_t i = 0; i < gradients; ++i) {
    BackwardPart part;
    part.compute = Seconds(some_time(random, 1));
    part.message = Seconds();
    part.size = Bytes(4.0 * static_cast<double>(1 + random() % 1000));
    plan.backward.push_back(part);
  }
  BackwardPart rest;
  rest.compute = Seconds(some_time(random, 1));
  plan.backward.push_back(rest);
  return plan;
}

/// The plan with messages of the cut, which take a + b M.
IterationPlan sent(const IterationPlan& single, const Cut& cut, const LinearCost& cost,
                   Travel travel) {
  IterationPlan plan = single;
  plan.schedule = travel == Travel::beside_backward ? Schedule::wait_free : Schedule::sequential;
  std::size_t gradient = 0;
  std::size_t message = 0;
  for (BackwardPart& part : plan.backward) {
    if (!part.message) continue;
    const bool is_last = gradient++ == cut.last.at(message);
    part.message.reset();
    if (!is_last) continue;
    part.size = Bytes(cut.bytes.at(message++));
    part.message = cost(part.size);
  }
  return plan;
}

Cut random_cut(Random& random, const Profile& profile) {
  if (random() % 3 == 0) return cut_singly(profile.gradients);
  return cut_in_buckets(profile.gradients, Bytes(between(random, 1, 4000)),
                        Bytes(between(random, 1, 9000)));
}

/// An iteration by the recurrence over messages, which also holds for messages off a line.
double by_recurrence(const Profile& profile, const Cut& cut, Travel travel, const LinearCost& cost,
                     double barrier, double storage) {
  std::vector<double> times;
  for (const double bytes : cut.bytes) times.push_back(cost(Bytes(bytes)).si());
  return iteration_time(profile, storage, backward_with_comm(profile, cut, travel, times, barrier));
}

TEST(BatchedForm, EqualsClosedFormAndTaskGraph) {
  Random random(7);
  for (int trial = 0; trial < 150; ++trial) {
    const IterationPlan single = random_plan(random);
    const Profile profile = profile_of(single);
    const Cut cut = random_cut(random, profile);
    const Travel travel = random() % 2 == 0 ? Travel::beside_backward : Travel::after_backward;
    std::vector<double> startup;
    std::vector<double> per_byte;
    for (int k = 0; k < 4; ++k) {
      startup.push_back(some_time(random, 1));
      per_byte.push_back(some_time(random, 2e-3));
    }
    const double waits = some_time(random, 0.2);
    const std::vector<double> barrier(startup.size(), waits);
    const std::vector<double> storage(startup.size(), single.storage.si());
    std::vector<double> found(startup.size());
    const BatchedForm form(profile, cut, travel);
    form.iterations({startup, per_byte, barrier, storage}, found);
    for (std::size_t k = 0; k < found.size(); ++k) {
      const LinearCost cost{Seconds(startup[k]), SecondsPerByte(per_byte[k])};
      IterationPlan plan = sent(single, cut, cost, travel);
      plan.barrier = Seconds(waits);
      std::string why;
      const auto expected = closed_form(plan, why);
      ASSERT_TRUE(expected) << why;
      EXPECT_NEAR(found[k], expected->total.si(), 1e-9 * found[k]);
      EXPECT_NEAR(found[k], simulate_iteration(plan).total.si(), 1e-9 * found[k]);
      EXPECT_NEAR(by_recurrence(profile, cut, travel, cost, waits, storage[k]), found[k],
                  1e-12 * found[k]);
    }
  }
}

/// More configurations than are worked on at a time, each as by itself.
TEST(BatchedForm, HoldsForEachOfMany) {
  Random random(9);
  const Profile profile = profile_of(random_plan(random));
  const Cut cut = cut_singly(profile.gradients);
  std::vector<double> startup;
  std::vector<double> per_byte;
  for (int k = 0; k < 1000; ++k) {
    startup.push_back(some_time(random, 1));
    per_byte.push_back(some_time(random, 2e-3));
  }
  const std::vector<double> none(startup.size(), 0);
  std::vector<double> found(startup.size());
  const BatchedForm form(profile, cut, Travel::beside_backward);
  form.iterations({startup, per_byte, none, none}, found);
  for (std::size_t k = 0; k < found.size(); ++k) {
    const LinearCost cost{Seconds(startup[k]), SecondsPerByte(per_byte[k])};
    EXPECT_NEAR(by_recurrence(profile, cut, Travel::beside_backward, cost, 0, 0), found[k],
                1e-12 * found[k]);
  }
}

TEST(BatchedForm, OfNoMessagesIsComputing) {
  Random random(10);
  IterationPlan plan = random_plan(random);
  for (BackwardPart& part : plan.backward) part.message.reset();
  const Profile profile = profile_of(plan);
  std::string why;
  const std::vector<double> zero{0};
  const std::vector<double> storage{plan.storage.si()};
  std::vector<double> found(1);
  BatchedForm(profile, {}, Travel::beside_backward).iterations({zero, zero, zero, storage}, found);
  EXPECT_NEAR(found[0], closed_form(plan, why)->total.si(), 1e-12 * found[0]);
}

TEST(BatchedForm, IsAbsentWhereNoClosedFormHolds) {
  Random random(11);
  IterationPlan plan = random_plan(random);
  plan.h2d = LaunchedWork::step(Seconds(1), Seconds(1));
  test::expect_contains(profile_of(plan).beside_absent, "host takes time");
  test::expect_contains(profile_of(plan).after_absent, "host takes time");
  plan = random_plan(random);
  plan.contention.emplace_back();
  test::expect_contains(profile_of(plan).beside_absent, "slow one another");
  EXPECT_EQ(profile_of(plan).after_absent, "");
  const Profile profile = profile_of(plan);
  EXPECT_THROW(BatchedForm(profile, {}, Travel::beside_backward), std::logic_error);
}

TEST(Cuts, CloseBucketsAsTheSchedulesDo) {
  const Network network = load_network("googlenet");
  std::vector<double> gradients;
  for (const Bucket& one : gradient_buckets(network, Schedule::wait_free)) {
    gradients.push_back(4 * static_cast<double>(one.elements));
  }
  const Cut cut = cut_in_buckets(gradients, 1_MiB, 25_MiB);
  const std::vector<Bucket> buckets = gradient_buckets(network, Schedule::bucketed);
  ASSERT_EQ(cut.messages(), buckets.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    EXPECT_EQ(cut.bytes[i], 4 * static_cast<double>(buckets[i].elements));
    next += buckets[i].layers.size();
    EXPECT_EQ(cut.last[i], next - 1);
  }
  EXPECT_EQ(cut_in_buckets(gradients, 4_B, 4_B), cut_singly(gradients));
  EXPECT_EQ(cut_in_buckets(gradients, Bytes(1e12), 4_B).messages(), 1U);
}

/// Gradients that are ready at once, of one size, and messages without start-ups among them.
TEST(MergedCuts, EndAsEarlyAsTheOptimum) {
  Random random(12);
  MergedCuts cuts;
  for (int trial = 0; trial < 2000; ++trial) {
    Profile profile;
    const bool alike = random() % 4 == 0;
    double ready = 0;
    const std::size_t count = 1 + random() % 30;
    for (std::size_t i = 0; i < count; ++i) {
      ready += some_time(random, 1);
      profile.ready.push_back(ready);
      profile.gradients.push_back(alike ? 100 : between(random, 4, 1000));
    }
    const LinearCost cost{Seconds(some_time(random, trial % 2 == 0 ? 0.1 : 3)),
                          SecondsPerByte(some_time(random, 3e-3))};
    const auto gradients = ready_gradients(profile);
    const Groups optimum = merge_optimally(gradients, cost);
    const double expected = last_arrival(gradients, optimum, cost).si();
    const auto groups = cuts.optimal(profile, cost);
    const double found = last_arrival(gradients, groups, cost).si();
    EXPECT_NEAR(found, expected, 1e-12 * expected + 1e-300) << trial;
    EXPECT_NEAR(backward_with_groups(profile, groups, cost, 0), found, 1e-12 * found) << trial;
    const LinearCost with_barrier{cost.a + Seconds(0.25), cost.b};
    const double later = last_arrival(gradients, groups, with_barrier).si();
    EXPECT_NEAR(backward_with_groups(profile, groups, cost, 0.25), later, 1e-12 * later);
  }
}

TEST(NominalLines, AreTheTimesOfMessages) {
  Machine machine = nominal_machine(load_cluster("p40x16"));
  Notes notes;
  for (const AllReduceRule rule : {AllReduceRule::ring, AllReduceRule::hierarchical}) {
    machine.cluster.all_reduce = rule;
    for (const int ranks : {2, 3, 4, 5, 8, 16, 100, 1000}) {
      const Placement placement{ranks, 4};
      const std::vector<LinearCost> lines = nominal_lines(machine, placement);
      ASSERT_EQ(lines.size(), 1U);
      const MessageTimes times(machine, placement, Schedule::wait_free, notes);
      for (const double m : {4.0, 1e4, 3e6, 1e9}) {
        const double expected = times.time(Bytes(m)).value.si();
        EXPECT_NEAR(lines[0](Bytes(m)).si(), expected, 1e-12 * expected) << ranks;
      }
    }
  }
  machine.cluster.all_reduce = AllReduceRule::quickest;
  EXPECT_EQ(nominal_lines(machine, {4, 4}).size(), 1U);
  for (const int ranks : {6, 8, 16, 100, 1000, 27648}) {
    const Placement placement{ranks, 4};
    const std::vector<LinearCost> lines = nominal_lines(machine, placement);
    const MessageTimes times(machine, placement, Schedule::wait_free, notes);
    for (const double m : {4.0, 1e4, 3e6, 1e9, 1e11}) {
      double least = 1e9;
      for (const LinearCost& line : lines) least = std::min(least, line(Bytes(m)).si());
      EXPECT_DOUBLE_EQ(least, times.time(Bytes(m)).value.si()) << ranks;
    }
  }
  machine.all_reduce_override = "best";
  EXPECT_TRUE(nominal_lines(machine, {4, 4}).empty());
  EXPECT_EQ(nominal_lines(nominal_machine(load_cluster("h200x8")), {4, 4}).size(), 1U);
}

}  // namespace
}  // namespace dlscale::model
