#include "model/goodput/simulated_training.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/goodput/spares.hpp"

namespace dlscale::model::goodput {
namespace {

/// Mean and standard error of the useful share in many simulated trainings.
struct Simulated {
  double mean = 0;
  double error = 0;
};

Simulated simulated_share(const TrainingRun& run, int trainings) {
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < trainings; ++i) {
    const double time = simulate_training(run, static_cast<unsigned>(i) + 7).total().si();
    sum += time;
    squares += time * time;
  }
  const double mean = sum / trainings;
  const double deviation = std::sqrt((squares / trainings - mean * mean) / (trainings - 1));
  const double share = run.work.si() / mean;
  return {share, share * deviation / mean};
}

/// A training of some thousand segments, so that its ends hardly count.
TrainingRun long_run(double mtbf, double stall, double write, double restart) {
  TrainingRun run;
  run.job = {1 / mtbf, Seconds(stall), Seconds(write), Seconds(restart)};
  run.every = Seconds(std::max(best_interval(run.job).si(), write - stall));
  run.work = 2000 * run.every;
  return run;
}

TEST(SimulatedTraining, TakesWhatTheClosedFormSays) {
  const std::vector<TrainingRun> runs{long_run(10000, 30, 0, 0), long_run(10000, 30, 0, 600),
                                      long_run(2000, 60, 0, 900), long_run(10000, 5, 200, 300),
                                      long_run(1000, 2, 100, 400)};
  for (const TrainingRun& run : runs) {
    const Simulated simulated = simulated_share(run, 200);
    const double expected = useful_share(run.job, run.every);
    EXPECT_LT(simulated.error, 0.005 * expected);
    EXPECT_NEAR(simulated.mean, expected, 3.5 * simulated.error + 2e-4 * expected)
        << run.every.si();
  }
}

TEST(SimulatedTraining, WaitsForNodesAsErlangSays) {
  TrainingRun run = long_run(5000, 20, 0, 300);
  run.work = 40 * run.work;
  run.node_failures_per_s = 0.75 * run.job.failures_per_s;
  run.repair = Seconds(8000);
  for (const int spares : {0, 1, 2}) {
    run.spares = spares;
    const Simulated simulated = simulated_share(run, 40);
    const double load = run.node_failures_per_s * run.repair.si();
    const double expected = useful_share(run.job, run.every) * (1 - waiting_share(load, spares));
    EXPECT_NEAR(simulated.mean, expected, 3.5 * simulated.error + 5e-4 * expected) << spares;
  }
}

TEST(SimulatedTraining, AddsUpAndRepeatsItself) {
  TrainingRun run = long_run(3000, 40, 100, 500);
  run.node_failures_per_s = run.job.failures_per_s;
  run.repair = Seconds(1e4);
  run.spares = 2;
  const SimulatedTraining one = simulate_training(run, 3);
  EXPECT_NEAR(one.useful / run.work, 1, 1e-9);
  EXPECT_GT(one.waiting, Seconds());
  EXPECT_GT(one.failures, 0);
  EXPECT_EQ(one.total(), simulate_training(run, 3).total());
  EXPECT_NE(one.total(), simulate_training(run, 4).total());
}

TEST(SimulatedTraining, WithoutFailuresIsWorkAndCheckpoints) {
  TrainingRun run;
  run.job.stall = Seconds(10);
  run.every = Seconds(100);
  run.work = Seconds(1000);
  const SimulatedTraining one = simulate_training(run, 1);
  EXPECT_EQ(one.total(), Seconds(1100));
  EXPECT_EQ(one.failures, 0);
}

TEST(SimulatedTraining, StopsAfterTheMostFailures) {
  TrainingRun run = long_run(1, 0.1, 0, 1000);  // a restart never ends
  EXPECT_EQ(simulate_training(run, 1, 5000).failures, 5000);
}

}  // namespace
}  // namespace dlscale::model::goodput
