#include "model/sgd_iter/graph/iteration.hpp"

#include <gtest/gtest.h>

#include <random>

#include "model/sgd_iter/graph/closed_form.hpp"
#include "tests/model/expect_iteration.hpp"
#include "tests/model/random_plan.hpp"

namespace dlscale::model {
namespace {

constexpr Schedule plain_schedules[] = {Schedule::sequential, Schedule::wait_free,
                                        Schedule::bucketed};

TEST(Iteration, SimulatedEqualsTheClosedForm) {
  std::mt19937 random(11);
  for (const Schedule schedule : plain_schedules) {
    for (int trial = 0; trial < 200; ++trial) {
      IterationPlan plan = random_plan(random, schedule);
      if (trial % 2 == 1) plan.input_copy = InputCopy::ahead;
      expect_closed_form(plan, 1e-9);
    }
  }
}

TEST(Iteration, EqualsTheClosedFormOnCoresEnoughForAllThreads) {
  std::mt19937 random(12);
  for (const Schedule schedule : plain_schedules) {
    IterationPlan plan = random_plan(random, schedule);
    plan.loader_cores = plan.copy_cores = plan.comm_cores = 1;
    plan.compute_cores = 4;
    plan.cores = 5 + plan.loader_threads;
    expect_closed_form(plan, 1e-9);
  }
}

/// One core for everything: compute 4 s, messages 1 s, loading negligible.
IterationPlan one_core() {
  IterationPlan plan;
  plan.cores = plan.loader_cores = plan.copy_cores = plan.compute_cores = plan.comm_cores = 1;
  plan.forward = Seconds(1);
  plan.backward = {
      {Seconds(1), Seconds(0.4)}, {Seconds(1), Seconds(0.4)}, {Seconds(1), Seconds(0.2)}};
  return plan;
}

TEST(OneCore, OverlapHidesNothing) {
  IterationPlan plan = one_core();
  const IterationTime overlapped = simulate_iteration(plan);
  plan.schedule = Schedule::sequential;
  const IterationTime sequential = simulate_iteration(plan);
  EXPECT_NEAR(overlapped.total.si(), 5, 1e-9);
  EXPECT_NEAR(sequential.total.si(), 5, 1e-9);
  EXPECT_NEAR(sequential.exposed_comm.si(), 1, 1e-9);
}

TEST(OneCore, StretchesBackwardByTheMessagesBesideIt) {
  const IterationTime time = simulate_iteration(one_core());
  EXPECT_NEAR(time.backward.si(), 3.8, 1e-9);      // 3 s and the 0.8 s that messages took from it
  EXPECT_NEAR(time.exposed_comm.si(), 0.2, 1e-9);  // the last message has the core to itself
  EXPECT_NEAR(time.hidden_comm.si(), 1.6, 1e-9);   // 0.8 s of work at half speed
  expect_phases_add_up(time);
}

TEST(OneCore, HasNoClosedFormAndSaysWhy) {
  expect_no_closed_form(one_core(), "share");
}

TEST(OneCore, PaysForLoadingInFull) {
  for (const double load : {0.1, 0.9, 2.0, 4.5, 30.0}) {
    for (const int prefetch : {1, 2, 3}) {
      IterationPlan plan = one_core();
      plan.load = Seconds(load);
      plan.prefetch = prefetch;
      const IterationTime time = simulate_iteration(plan);
      EXPECT_NEAR(time.total.si(), 5 + load, 1e-6) << load << ' ' << prefetch;
      EXPECT_NEAR(time.load.si(), load, 1e-12);
      expect_phases_add_up(time);
    }
  }
}

TEST(TwoCores, HideLoadingAndMessages) {
  IterationPlan plan = one_core();
  plan.cores = 2;
  EXPECT_NEAR(simulate_iteration(plan).total.si(), 4.2, 1e-9);
  plan.backward = {{Seconds(3), {}}};
  plan.load = Seconds(3.9);
  EXPECT_NEAR(simulate_iteration(plan).total.si(), 4, 1e-9);
}

TEST(Iteration, WaitsForInputThatIsSlower) {
  IterationPlan plan = one_core();
  plan.cores = 3;
  plan.load = Seconds(10);
  const IterationTime time = simulate_iteration(plan);
  EXPECT_NEAR(time.total.si(), 10, 1e-9);
  EXPECT_NEAR(time.io.si(), 5.8, 1e-9);
}

TEST(Iteration, SpreadsABatchOverLoaderThreads) {
  IterationPlan plan = one_core();
  plan.cores = 6;
  plan.loader_threads = 4;
  plan.load = Seconds(2.5);  // a quarter of 10 s
  const IterationTime time = simulate_iteration(plan);
  EXPECT_NEAR(time.total.si(), 4.2, 1e-9);
  EXPECT_NEAR(time.load.si(), 10, 1e-9);
}

TEST(Iteration, IsPacedByStorageThatIsSlower) {
  IterationPlan plan = one_core();
  plan.storage = Seconds(20);
  EXPECT_NEAR(simulate_iteration(plan).total.si(), 20, 1e-9);
}

TEST(Iteration, NeverGetsSlowerWithMoreCores) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 20; ++trial) {
    IterationPlan plan = random_plan(random, Schedule::wait_free);
    plan.loader_cores = plan.copy_cores = plan.compute_cores = plan.comm_cores = 1;
    Seconds before(1e9);
    for (const double cores : {1.0, 1.5, 2.0, 4.0, 8.0}) {
      plan.cores = cores;
      const Seconds now = simulate_iteration(plan).total;
      EXPECT_LE(now.si(), before.si() * (1 + 1e-2));
      before = now;
    }
  }
}

TEST(Iteration, RefusesNoThreadsAndNoPrefetch) {
  IterationPlan plan = one_core();
  plan.prefetch = 0;
  EXPECT_THROW(simulate_iteration(plan), std::logic_error);
}

}  // namespace
}  // namespace dlscale::model
