// Plans of training: every configuration as predict() says, and what is chosen of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "model/plan/missed_limits.hpp"
#include "model/plan/training_plan.hpp"
#include "model/sgd_iter/kernels/memory.hpp"
#include "model/sgd_iter/predict.hpp"
#include "model/sgd_iter/time_to_train.hpp"
#include "tests/core/support.hpp"
#include "tests/model/two_ranks.hpp"

namespace dlscale::model {
namespace {

const std::vector<Exchange>& five_schedules() {
  static const std::vector<Exchange> all{{Schedule::sequential},
                                         {Schedule::wait_free},
                                         {Schedule::bucketed},
                                         {Schedule::merged_greedy},
                                         {Schedule::merged}};
  return all;
}

/// Each schedule that goes with them, on one rank, on three and on all.
std::vector<Exchange> by_servers() {
  std::vector<Exchange> all;
  for (const Schedule schedule : {Schedule::sequential, Schedule::wait_free, Schedule::bucketed}) {
    for (const int servers : {1, 3, 0}) {
      all.push_back({.schedule = schedule,
                     .synchronisation = Synchronisation::parameter_server,
                     .servers = servers});
    }
  }
  return all;
}

/// Each rule that gives out tensors with each schedule that sends them one by one.
std::vector<Exchange> by_rules() {
  std::vector<Exchange> all;
  for (const Sharding sharding :
       {Sharding::mxnet, Sharding::tensorflow, Sharding::tensorflow_greedy}) {
    for (const Schedule schedule : {Schedule::sequential, Schedule::wait_free}) {
      for (const int servers : {2, 0}) {
        all.push_back({.schedule = schedule,
                       .synchronisation = Synchronisation::parameter_server,
                       .servers = servers,
                       .sharding = sharding});
      }
    }
  }
  return all;
}

/// Every place of a grid, as predict() has it. Where it refuses a place there is none.
void expect_predictions(const Network& network, const Machine& machine, const TrainingRun& run,
                        const PlanSpace& space) {
  const IterationGrid grid = iteration_grid(network, machine, run, space);
  PlanPlace place;
  std::size_t places = 0;
  for (place.exchange = 0; place.exchange < space.exchanges.size(); ++place.exchange) {
    for (place.batch = 0; place.batch < space.batches.size(); ++place.batch) {
      TrainingRun one = run;
      apply(space.exchanges[place.exchange], one);
      one.batch = space.batches[place.batch];
      for (place.rank = 0; place.rank < space.ranks.size(); ++place.rank) {
        const int ranks[] = {space.ranks[place.rank]};
        if (ranks[0] > 1 && one.settings.servers > ranks[0]) {
          EXPECT_THROW((void)predict(network, machine, one, ranks), ConfigError);
          EXPECT_TRUE(std::isnan(grid.at(place)));
          continue;
        }
        ++places;
        const Prediction said = predict(network, machine, one, ranks).front();
        const double expected = said.time.total.si();
        EXPECT_NEAR(grid.at(place), expected, 1e-9 * expected)
            << exchange_text(space.exchanges[place.exchange]) << " " << one.batch << " on "
            << ranks[0] << " of " << machine.cluster.name;
        EXPECT_NEAR(grid.alone[place.batch] / grid.at(place), said.efficiency, 1e-9);
      }
    }
  }
  EXPECT_EQ(grid.by_form + grid.by_simulation, places);
  EXPECT_EQ(grid.too_few.empty(), places == space.size());
}

TrainingRun gpu_run(const Machine& machine) {
  TrainingRun run;
  run.network = "any";
  run.cluster = machine.cluster.name;
  run.ranks_per_node = machine.cluster.devices_per_node;
  run.loader_threads = 4;
  run.input_copy = InputCopy::ahead;
  run.normalisation = Normalisation::device;
  return run;
}

TEST(IterationGrid, IsWhatPredictSaysFromDataSheets) {
  const Network network = load_network("alexnet");
  Machine machine = nominal_machine(load_cluster("p40x16"));
  machine.loaders.front().decode = Estimate<Seconds>::exact(Seconds(1e-6));
  const PlanSpace space{{1, 2, 3, 4, 6, 64}, {8, 64}, five_schedules()};
  expect_predictions(network, machine, gpu_run(machine), space);
  machine.cluster.all_reduce = AllReduceRule::hierarchical;
  machine.cluster.storage.read_bandwidth = BytesPerSecond(2e9);
  machine.cluster.storage.shared_by_nodes = true;
  TrainingRun run = gpu_run(machine);
  run.input_copy = InputCopy::on_path;
  expect_predictions(network, machine, run, space);
  const IterationGrid grid = iteration_grid(network, machine, run, space);
  EXPECT_EQ(grid.by_simulation, 0U);
  EXPECT_TRUE(std::ranges::none_of(grid.simulated, [](bool one) { return one; }));
}

TEST(IterationGrid, IsWhatPredictSaysWhereMessagesTakeNoLine) {
  const Network network = load_network("alexnet");
  Machine machine = nominal_machine(load_cluster("h200x8"));
  const PlanSpace space{{1, 2, 8, 32}, {32}, five_schedules()};
  expect_predictions(network, machine, gpu_run(machine), space);
  machine.cluster.all_reduce = AllReduceRule::quickest;
  expect_predictions(network, machine, gpu_run(machine), space);
  machine.all_reduce_override = "best";
  expect_predictions(network, machine, gpu_run(machine), space);
}

TEST(IterationGrid, IsWhatPredictSaysOfParameterServers) {
  const Network network = load_network("alexnet");
  const Machine machine = nominal_machine(load_cluster("p40x16"));
  const PlanSpace space{{1, 2, 4, 6, 64}, {8, 64}, by_servers()};
  expect_predictions(network, machine, gpu_run(machine), space);
  const IterationGrid grid = iteration_grid(network, machine, gpu_run(machine), space);
  EXPECT_EQ(grid.by_simulation, 0U);
  EXPECT_EQ(grid.too_few.front(), "sequential by 3 servers: not on fewer ranks than that");
  EXPECT_EQ(exchange_text(space.exchanges[0]), "sequential by 1 server");
  EXPECT_EQ(exchange_text(space.exchanges[5]), "wait_free by servers on all ranks");
  // One server updates all, and each of many a share: it can be told apart.
  EXPECT_GT(grid.at({0, 0, 4}), grid.at({2, 0, 4}));
}

TEST(IterationGrid, IsWhatPredictSaysOfTheRulesOfFrameworks) {
  const Network network = load_network("alexnet");
  const Machine machine = nominal_machine(load_cluster("p40x16"));
  const PlanSpace space{{1, 2, 4, 64}, {8}, by_rules()};
  expect_predictions(network, machine, gpu_run(machine), space);
  const IterationGrid grid = iteration_grid(network, machine, gpu_run(machine), space);
  EXPECT_EQ(grid.by_simulation, 0U);
  EXPECT_EQ(exchange_text(space.exchanges[0]), "sequential by 2 servers (mxnet)");
  EXPECT_EQ(exchange_text(space.exchanges[7]), "wait_free by servers on all ranks (tensorflow)");
  // Half of fc6 each, or all of the weights on one of two.
  EXPECT_LT(grid.at({0, 0, 2}), grid.at({4, 0, 2}));
}

/// Every gradient is a bucket of 4 B, or waits for the next; all together are one message.
TEST(IterationGrid, ClosesBucketsWhereItIsAsked) {
  const Network network = load_network("alexnet");
  const Machine machine = nominal_machine(load_cluster("p40x16"));
  const PlanSpace space{{2, 16},
                        {32},
                        {{Schedule::wait_free},
                         {Schedule::bucketed, 4_B},
                         {Schedule::bucketed},
                         {Schedule::bucketed, 25_MiB},
                         {Schedule::bucketed, 4_MiB}}};
  const TrainingRun run = gpu_run(machine);
  const IterationGrid grid = iteration_grid(network, machine, run, space);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_DOUBLE_EQ(grid.at({1, 0, rank}), grid.at({0, 0, rank}));
    EXPECT_DOUBLE_EQ(grid.at({3, 0, rank}), grid.at({2, 0, rank}));
    TrainingRun one = run;
    one.ranks = space.ranks[rank];
    one.batch = 32;
    one.schedule = Schedule::bucketed;
    const auto simulated = [&](const Exchange& exchange) {
      TrainingRun so = one;
      apply(exchange, so);
      const std::array ranks{one.ranks};
      return predict(network, machine, so, ranks).front().time.total.si();
    };
    for (const std::size_t exchange : {1U, 2U, 3U, 4U}) {
      const double by_form = grid.at({exchange, 0, rank});
      EXPECT_NEAR(by_form, simulated(space.exchanges[exchange]), 1e-9 * by_form) << exchange;
    }
  }
}

class PlansOfTwoRanks : public TwoRanks {
 protected:
  PlanSpace space_{{1, 2, 8}, {4, 8}, five_schedules()};
};

TEST_F(PlansOfTwoRanks, AreWhatPredictSaysOfAFittedMachine) {
  expect_predictions(network_, machine_, run_, space_);
  EXPECT_EQ(iteration_grid(network_, machine_, run_, space_).by_simulation, 0U);
}

TEST_F(PlansOfTwoRanks, AreWhatPredictSaysOfServersToo) {
  space_ = {{1, 2, 8}, {4}, by_servers()};
  expect_predictions(network_, machine_, run_, space_);
  EXPECT_EQ(iteration_grid(network_, machine_, run_, space_).by_simulation, 0U);
  space_.exchanges = by_rules();
  expect_predictions(network_, machine_, run_, space_);
  EXPECT_EQ(iteration_grid(network_, machine_, run_, space_).by_simulation, 0U);
  machine_.cluster.host.cores = 2;
  run_.cores_per_rank = 1;
  expect_predictions(network_, machine_, run_, space_);
  EXPECT_EQ(iteration_grid(network_, machine_, run_, space_).by_form, 0U);
}

TEST_F(PlansOfTwoRanks, AreSimulatedWhereNoClosedFormHolds) {
  machine_.cluster.host.cores = 2;
  run_.cores_per_rank = 1;
  space_.exchanges.push_back({Schedule::horovod});
  space_.exchanges.push_back({Schedule::priority});
  expect_predictions(network_, machine_, run_, space_);
  const IterationGrid grid = iteration_grid(network_, machine_, run_, space_);
  EXPECT_EQ(grid.by_form, 0U);
  EXPECT_TRUE(std::ranges::all_of(grid.simulated, [](bool one) { return one; }));
  EXPECT_TRUE(grid.why_simulated.contains("horovod has no batched form"));
  space_.batches.clear();
  for (int images = 1; images < 100; ++images) space_.batches.push_back(images);
  EXPECT_THROW(iteration_grid(network_, machine_, run_, space_), ConfigError);
}

TEST(IterationGrid, RefusesWhatIsEmptyOrTooMuch) {
  const Network network = load_network("alexnet");
  const Machine machine = nominal_machine(load_cluster("p40x16"));
  PlanSpace space{{1}, {}, five_schedules()};
  EXPECT_THROW(iteration_grid(network, machine, gpu_run(machine), space), ConfigError);
  for (int i = 1; i <= 65'536; ++i) space.batches.push_back(i);
  for (int i = 2; i <= 100; ++i) space.ranks.push_back(i);
  EXPECT_THROW(iteration_grid(network, machine, gpu_run(machine), space), ConfigError);
  EXPECT_THROW(
      iteration_grid(network, machine, gpu_run(machine), {{1}, {100'000}, five_schedules()}),
      ConfigError);
}

class Plans : public testing::Test {
 protected:
  Plans() {
    machine_.loaders.front().decode = Estimate<Seconds>::exact(Seconds(1e-6));
    question_.space = {{1, 2, 4, 8, 16, 32}, {16, 32, 64}, five_schedules()};
    question_.length = {90, imagenet_images};
  }
  [[nodiscard]] TrainingPlan plan() const {
    return plan_training(network_, machine_, gpu_run(machine_), question_);
  }
  [[nodiscard]] std::string refusal() const {
    return test::config_error([&] { static_cast<void>(plan()); });
  }

  Network network_ = load_network("alexnet");
  Machine machine_ = nominal_machine(load_cluster("p40x16"));
  PlanQuestion question_;
};

/// Of all places, by hand.
TEST_F(Plans, ChooseTheBestOfAllPlaces) {
  const IterationGrid grid = iteration_grid(network_, machine_, gpu_run(machine_), question_.space);
  double least_time = INFINITY;
  double least_hours = INFINITY;
  PlanPlace place;
  for (; place.exchange < 5; ++place.exchange) {
    for (place.batch = 0; place.batch < 3; ++place.batch) {
      for (place.rank = 0; place.rank < 6; ++place.rank) {
        const double images =
            1.0 * question_.space.ranks[place.rank] * question_.space.batches[place.batch];
        const double time = 90 * imagenet_images / images * grid.at(place);
        least_time = std::min(least_time, time);
        least_hours = std::min(least_hours, time * question_.space.ranks[place.rank] / 3600);
      }
    }
  }
  TrainingPlan quickest = plan();
  EXPECT_NEAR(quickest.best.front().planned.time.si(), least_time, 1e-9 * least_time);
  EXPECT_NEAR(quickest.best.front().simulated.time.si(), least_time, 1e-9 * least_time);
  EXPECT_EQ(quickest.best.size(), 3U);
  EXPECT_EQ(quickest.configurations, 90U);
  EXPECT_EQ(quickest.within_limits, 90U);
  EXPECT_EQ(quickest.run.ranks, quickest.best.front().planned.ranks);
  const PlannedTraining& quick = quickest.best.front().simulated;
  const int ranks[] = {quick.ranks};
  const Prediction said = predict(network_, machine_, quickest.run, ranks).front();
  ASSERT_TRUE(quick.efficiency_interval);
  EXPECT_NEAR(quick.efficiency_interval->low, *said.speedup_low / quick.ranks, 1e-9);
  EXPECT_NEAR(quick.efficiency_interval->high, *said.speedup_high / quick.ranks, 1e-9);
  question_.objective = Objective::cost;
  question_.price = 2.5;
  const PlannedTraining cheapest = plan().best.front().planned;
  EXPECT_NEAR(cheapest.rank_hours, least_hours, 1e-9 * least_hours);
  EXPECT_NEAR(cheapest.cost, 2.5 * least_hours, 1e-9 * cheapest.cost);
  question_.objective = Objective::efficiency;
  EXPECT_NEAR(plan().best.front().planned.efficiency, 1, 1e-12);
  EXPECT_EQ(plan().best.front().planned.ranks, 1);
  EXPECT_EQ(plan().best.front().planned.exchange, Exchange{Schedule::sequential});
}

/// Where input sets the pace, no schedule makes a difference.
TEST_F(Plans, PreferTheSimplestOfEqualOnes) {
  machine_.loaders.front().decode = Estimate<Seconds>::exact(Seconds(0.1));
  question_.space.ranks = {1, 2};
  const TrainingPlan found = plan();
  ASSERT_EQ(found.best.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const PlannedTraining& one = found.best[i].planned;
    EXPECT_EQ(one.ranks, 2);
    EXPECT_EQ(one.batch, question_.space.batches[i]);
    EXPECT_EQ(one.exchange, Exchange{Schedule::sequential});
  }
  question_.objective = Objective::cost;
  EXPECT_EQ(plan().best.front().planned.ranks, 2);
  question_.objective = Objective::efficiency;
  EXPECT_EQ(plan().best.front().planned.ranks, 2);
  for (const PlannedTraining& one : plan().front) EXPECT_EQ(one.batch, 16);
}

/// No point is beaten in both, and each number of ranks that is missing is.
TEST_F(Plans, HaveAFrontOfTimeAgainstCost) {
  const TrainingPlan found = plan();
  ASSERT_FALSE(found.front.empty());
  EXPECT_NEAR(found.front.front().time.si(), found.best.front().planned.time.si(), 1e-6);
  for (std::size_t i = 1; i < found.front.size(); ++i) {
    EXPECT_GT(found.front[i].time, found.front[i - 1].time);
    EXPECT_LT(found.front[i].cost, found.front[i - 1].cost);
  }
  question_.objective = Objective::cost;
  EXPECT_NEAR(found.front.back().cost, plan().best.front().planned.cost, 1e-9);
}

TEST_F(Plans, KeepToTheirLimits) {
  const TrainingPlan unlimited = plan();
  question_.objective = Objective::cost;
  question_.limits.time = 1.5 * unlimited.best.front().planned.time;
  const TrainingPlan limited = plan();
  EXPECT_LT(limited.within_limits, unlimited.within_limits);
  for (const CheckedTraining& one : limited.best) {
    EXPECT_LE(one.planned.time, *question_.limits.time);
  }
  for (const PlannedTraining& one : limited.front) EXPECT_LE(one.time, *question_.limits.time);
  question_.objective = Objective::time;
  question_.limits = {};
  question_.limits.global_batch = 64;
  for (const CheckedTraining& one : plan().best) EXPECT_LE(one.planned.global_batch(), 64);
  question_.limits = {};
  question_.limits.budget = 1.01 * unlimited.front.back().cost;
  for (const PlannedTraining& one : plan().front) EXPECT_LE(one.cost, *question_.limits.budget);
}

TEST_F(Plans, SayWhyTheyHaveNoMoreRanksAndNoLargerBatch) {
  question_.most_ranks = 32;
  const TrainingPlan most = plan();
  EXPECT_EQ(most.ranks_bound, ChoiceBound::asked);
  question_.cluster_ranks = 32;
  EXPECT_EQ(plan().ranks_bound, ChoiceBound::cluster);
  question_.objective = Objective::cost;
  EXPECT_EQ(plan().ranks_bound, ChoiceBound::objective);
  question_.limits.time = 1.5 * most.best.front().planned.time;
  EXPECT_EQ(plan().ranks_bound, ChoiceBound::limits);
  question_.limits = {};
  question_.space = {{8, 16}, {128, 256}, five_schedules(), 2048};
  question_.objective = Objective::time;
  EXPECT_EQ(plan().ranks_bound, ChoiceBound::shares);
}

TEST_F(Plans, SayWhichLimitIsMissedByHowMuch) {
  const TrainingPlan unlimited = plan();
  const Seconds quickest = unlimited.best.front().planned.time;
  question_.limits.time = 0.01 * quickest;
  test::expect_contains(refusal(), "100 times the time limit");
  EXPECT_NE(refusal().find("; 90 % interval "), std::string::npos) << refusal();
  test::expect_contains(refusal(), "the quickest training takes");
  question_.limits = {};
  question_.limits.budget = 0.01 * unlimited.front.back().cost;
  test::expect_contains(refusal(), "100 times the budget");
  // Each can be kept to, but not both: what is quick is dear.
  ASSERT_GT(unlimited.front.size(), 1U);
  question_.limits.time = 1.001 * quickest;
  question_.limits.budget = 1.001 * unlimited.front.back().cost;
  test::expect_contains(refusal(), "within the budget");
  question_.limits = {};
  question_.limits.global_batch = 8;
  test::expect_contains(refusal(), "2 times the largest allowed, 8");
}

TEST_F(Plans, HaveTheIntervalsOfPredictions) {
  question_.space = {{1, 16}, {32}, {{Schedule::wait_free}, {Schedule::bucketed, 4_MiB}}};
  const TrainingPlan found = plan();
  for (const CheckedTraining& one : found.best) {
    const PlannedTraining& training = one.simulated;
    ASSERT_TRUE(training.interval);
    EXPECT_LT(training.interval->low, training.iteration);
    EXPECT_GT(training.interval->high, training.iteration);
    EXPECT_EQ(training.kept, LimitsKept::throughout);  // there are none
    if (training.exchange.bucket) continue;
    TrainingRun run = gpu_run(machine_);
    run.batch = training.batch;
    const int ranks[] = {training.ranks};
    const Prediction said = predict(network_, machine_, run, ranks).front();
    EXPECT_NEAR(training.interval->low.si(), said.low->si(), 1e-9);
    EXPECT_NEAR(training.interval->high.si(), said.high->si(), 1e-9);
  }
  for (const PlannedTraining& one : found.front) EXPECT_TRUE(one.interval);
  EXPECT_EQ(told_of_front(found.front).size(), found.front.size());
  for (const PlanNeighbour& one : found.neighbours) EXPECT_TRUE(one.planned.interval);
}

TEST_F(Plans, SayWhereInTheirIntervalTheyKeepToTheLimits) {
  machine_.loaders.front().decode = {};  // so that computing, of which there is one, counts
  question_.space = {{1}, {32}, {{Schedule::wait_free}}};
  const PlannedTraining best = plan().best.front().simulated;
  const auto kept_within = [&](double times) {
    question_.limits.time = times * best.time;
    return plan().best.front().simulated.kept;
  };
  EXPECT_EQ(kept_within(10), LimitsKept::throughout);
  EXPECT_EQ(kept_within(1.01), LimitsKept::as_predicted);
  // By what others trained it may be so quick, which the sentence lets see.
  question_.limits.time = 0.95 * best.time;
  EXPECT_NE(refusal().find("; 90 % interval "), std::string::npos) << refusal();
  question_.limits.time = 0.5 * best.time;
  test::expect_contains(refusal(), "nothing fits");
}

TEST_F(Plans, LeaveOutWhatTheMemoryDoesNotHold) {
  machine_.cluster.device.memory = Bytes(3e9);
  question_.space.ranks = {16};
  TrainingRun run = gpu_run(machine_);
  run.ranks = 16;
  const int most = largest_batch(network_, DeviceKind::gpu, run,
                                 memory_of_rank(machine_.cluster, run), MemoryBound::about);
  question_.space.batches = {most, most + 1};
  const TrainingPlan found = plan();
  for (const CheckedTraining& one : found.best) EXPECT_EQ(one.planned.batch, most);
  ASSERT_EQ(found.left_out.size(), 1U);
  test::expect_contains(found.left_out.front(), std::to_string(most + 1));
  question_.space.batches = {most + 1};
  test::expect_contains(refusal(), "no batch leaves room");
}

/// 16 ranks of 64 images are 1024: as many epochs as 1,024 / 10,000 more.
TEST_F(Plans, CountEpochsByTheCriticalBatch) {
  question_.length.critical_batch = 10'000;
  question_.space.ranks = {16};
  question_.space.batches = {64};
  const PlannedTraining one = plan().best.front().planned;
  EXPECT_NEAR(one.epochs, 90 * (1 + 1024 / 10'000.0), 1e-9);
  const Training same{.epochs = one.epochs,
                      .samples = imagenet_images,
                      .samples_per_s = one.images_per_s,
                      .evaluations_per_epoch = 0};
  EXPECT_NEAR(one.time.si(), time_to_train(same).si(), 1e-9 * one.time.si());
}

TEST_F(Plans, TellWhatChangesWithEachChoice) {
  question_.objective = Objective::cost;
  const TrainingPlan found = plan();
  const PlannedTraining& best = found.best.front().planned;
  EXPECT_EQ(best.ranks, 1);
  // One way to have more ranks, four other schedules, and the batches beside.
  EXPECT_GE(found.neighbours.size(), 6U);
  for (const PlanNeighbour& one : found.neighbours) {
    EXPECT_GE(one.planned.cost, best.cost * (1 - 1e-9)) << one.change;
    test::expect_contains(one.change, " instead of ");
    EXPECT_TRUE(one.within_limits);
  }
}

TEST_F(Plans, CheckBucketsOfTheirOwnByTheirTaskGraph) {
  question_.space = {{16}, {32}, {{Schedule::bucketed, 4_MiB}}};
  const TrainingPlan found = plan();
  ASSERT_EQ(found.best.size(), 1U);
  const CheckedTraining& one = found.best.front();
  EXPECT_NEAR(one.simulated.iteration.si(), one.planned.iteration.si(),
              1e-9 * one.planned.iteration.si());
  EXPECT_FALSE(one.bound.empty());
  EXPECT_EQ(exchange_text(one.planned.exchange), "bucketed at 4.00 MiB");
}

TEST(DurationText, TakesTheUnitThatFits) {
  EXPECT_EQ(duration_text(Seconds(12.345)), "12.35 s");
  EXPECT_EQ(duration_text(Seconds(600)), "10 min");
  EXPECT_EQ(duration_text(Seconds(3600 * 7.25)), "7.25 h");
  EXPECT_EQ(duration_text(Seconds(86400 * 3.4)), "3.4 days");
}

TEST(Objectives, AreKnownByTheirNames) {
  for (const Objective objective : all_objectives) {
    EXPECT_EQ(parse_objective(objective_name(objective)), objective);
  }
  EXPECT_THROW(parse_objective("speed"), ConfigError);
}

}  // namespace
}  // namespace dlscale::model
