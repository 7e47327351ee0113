#include "model/sgd_iter/cluster/cluster_iteration.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/costs/input_pipeline.hpp"
#include "model/sgd_iter/predict.hpp"
#include "model/sgd_iter/straggler_cost.hpp"
#include "tests/model/expect_iteration.hpp"
#include "tests/model/independent_forms.hpp"
#include "tests/model/notes_of.hpp"
#include "tests/model/random_plan.hpp"

namespace dlscale::model {
namespace {

constexpr Placement two_nodes{7, 4};  // the second is not full

void expect_as_folded(const IterationPlan& plan, const CountedIterations& counted) {
  const IterationTime folded = simulate_iteration(plan);
  const ClusterIteration all = simulate_cluster(plan, two_nodes, ComputeFactors(), counted);
  EXPECT_NEAR(all.total.si(), folded.total.si(), 1e-9 * folded.total.si());
  ASSERT_EQ(all.ranks.size(), 7U);
  // Those of the fuller node: the others share its storage with fewer.
  for (std::size_t rank = 0; rank < 4; ++rank) {
    expect_equal(all.ranks[rank], folded, 1e-9);
    EXPECT_NEAR(all.waiting[rank].si(), 0, 1e-9 * folded.total.si());
  }
  for (const IterationTime& time : all.ranks) expect_phases_add_up(time);
}

/// A message of so many bytes takes 0.1 s and 0.1 s a byte.
Seconds message_time(Bytes size) {
  return Seconds(0.1 + 0.1 * size.si());
}

IterationPlan random_packed_plan(std::mt19937& random) {
  std::uniform_real_distribution<double> amount(0.01, 1);
  IterationPlan plan = random_plan(random, Schedule::horovod);
  plan.load = plan.storage = plan.barrier = Seconds();
  Packing packing{Seconds(2 * amount(random)),
                  Bytes(10 * amount(random)),
                  Seconds(0.2 * amount(random)),
                  0,
                  message_time,
                  0};
  if (random() % 2 == 0) packing.barrier = Seconds(0.05 * amount(random));
  for (BackwardPart& part : plan.backward) {
    if (!part.message) continue;
    part.size = Bytes(10 * amount(random));
    part.message = message_time(part.size);
    ++packing.messages;
  }
  plan.packing = packing;
  return plan;
}

/// Each message in four pieces of a quarter, of which forward waits for its own.
IterationPlan random_plan_in_pieces(std::mt19937& random) {
  IterationPlan plan = random_gathered_plan(random);
  plan.schedule = Schedule::priority;
  for (BackwardPart& part : plan.backward) {
    part.message = 0.25 * *part.message;
    part.pieces.assign(3, *part.message);
    part.gather.reset();
  }
  return plan;
}

void share_cores(IterationPlan& plan) {
  plan.compute_cores = plan.copy_cores = plan.comm_cores = 1;
  plan.cores = 1.5;
}

/// A kind of plan drawn at random.
struct DrawnPlan {
  const char* name;
  std::function<IterationPlan(std::mt19937& random, int trial)> draw;
  CountedIterations counted;
  bool ahead = false;  ///< whether every second one copies its batches ahead
};

TEST(ClusterIteration, OfEqualRanksIsThatOfOneForAll) {
  constexpr Schedule schedules[] = {Schedule::sequential, Schedule::wait_free, Schedule::bucketed};
  const auto schedule = [&](int trial, int count) { return schedules[trial % count]; };
  const DrawnPlan kinds[] = {
      {"plain",
       [&](auto& random, int i) { return random_plan(random, schedule(i, 3)); },
       {24, 1},
       true},
      {"gathers beside forward",
       [](auto& random, int) { return random_gathered_plan(random); },
       {24, 1},
       true},
      {"shared cores",
       [&](auto& random, int i) {
         IterationPlan plan = random_plan(random, schedule(i, 2));
         plan.storage = plan.load = Seconds();
         share_cores(plan);
         return plan;
       },
       {24, 1}},
      {"packed", [](auto& random, int) { return random_packed_plan(random); }, {32, 32}, true},
      {"packed on shared cores",
       [](auto& random, int) {
         IterationPlan plan = random_packed_plan(random);
         share_cores(plan);
         plan.packing->cores = 1;
         return plan;
       },
       {32, 32}},
      {"pieces that overtake",
       [](auto& random, int i) {
         IterationPlan plan = random_plan_in_pieces(random);
         plan.window = i % 4 < 2 ? 1 : 4;
         plan.choice = Seconds(i % 8 < 4 ? 0 : 0.03);
         return plan;
       },
       {32, 32},
       true},
      {"servers",  // gathers after the update
       [&](auto& random, int i) {
         IterationPlan plan = random_plan(random, schedule(i, 2));
         for (BackwardPart& part : plan.backward) part.gather = part.message;
         return plan;
       },
       {24, 1}}};
  std::mt19937 random(41);
  for (const DrawnPlan& kind : kinds) {
    for (int trial = 0; trial < 24; ++trial) {
      SCOPED_TRACE(testing::Message() << kind.name << ' ' << trial);
      IterationPlan plan = kind.draw(random, trial);
      if (kind.ahead && trial % 2 == 1) plan.input_copy = InputCopy::ahead;
      expect_as_folded(plan, kind.counted);
    }
  }
}

/// Nothing is agreed on before the slowest rank has it.
TEST(ClusterIteration, PacksWhatTheLastRankHasReady) {
  IterationPlan plan;
  plan.schedule = Schedule::horovod;
  plan.backward = {{Seconds(1.6), Seconds(0.2)}, {Seconds(0.4), Seconds(0.2)}};
  plan.backward[0].size = plan.backward[1].size = Bytes(1);
  plan.packing = Packing{Seconds(1), Bytes(10), Seconds(0), 0, message_time, 2};
  const auto total = [&](const std::vector<double>& factors) {
    return simulate_cluster(plan, {3, 3}, ComputeFactors(factors), {1, 16}).total.si();
  };
  EXPECT_GT(total({1, 1.25, 1}), total({1}));
  EXPECT_NEAR(total({1, 1.25, 1}), total({1.25}), 1e-9);
}

/// Loader threads beside all that come to a cycle of iterations, whose mean both take.
TEST(ClusterIteration, PaysForLoadingOnOneCoreInFull) {
  IterationPlan plan;
  plan.cores = plan.loader_cores = plan.compute_cores = plan.comm_cores = 1;
  plan.load = Seconds(0.9);
  plan.forward = Seconds(1);
  plan.backward = {{Seconds(1), Seconds(0.4)}, {Seconds(2), Seconds(0.6)}};
  const ClusterIteration all = simulate_cluster(plan, two_nodes, ComputeFactors(), {16, 16});
  EXPECT_NEAR(all.total.si(), 5.9, 1e-6);
}

/// Forward 0.4 s, backward 0.6 s, a message of 0.25 s after it; the update takes no time.
IterationPlan one_message() {
  IterationPlan plan;
  plan.forward = Seconds(0.4);
  plan.backward = {{Seconds(0.6), Seconds(0.25)}};
  return plan;
}

TEST(ClusterIteration, WaitsForOneThatIsAlwaysSlow) {
  const ComputeFactors factors({1, 1, 1.5, 1});
  const ClusterIteration all = simulate_cluster(one_message(), {4, 2}, factors, {2, 3});
  EXPECT_NEAR(all.total.si(), 1.75, 1e-12);
  EXPECT_NEAR(all.waiting[0].si(), 0.5, 1e-12);
  EXPECT_NEAR(all.waiting[2].si(), 0, 1e-12);
  EXPECT_NEAR(all.ranks[2].forward.si(), 0.6, 1e-12);
  EXPECT_NEAR(all.ranks[2].exposed_comm.si(), 0.25, 1e-12);
  EXPECT_NEAR(all.ranks[0].exposed_comm.si(), 0.75, 1e-12);
}

/// A slow rank delays every message by what its backward has fallen behind, and the last by most:
/// the closed form of its own times.
TEST(ClusterIteration, WithOneSlowRankIsTheClosedFormOfThatRank) {
  std::mt19937 random(44);
  for (int trial = 0; trial < 12; ++trial) {
    IterationPlan plan = random_plan(random, Schedule::wait_free);
    plan.load = plan.storage = Seconds();
    const ClusterIteration all =
        simulate_cluster(plan, {5, 2}, ComputeFactors({1, 0.8, 1, 2, 1.5}), {4, 1});
    plan.forward = 2 * plan.forward.device;
    plan.update = 2 * plan.update.device;
    for (BackwardPart& part : plan.backward) part.compute = 2 * part.compute.device;
    std::string why;
    const auto expected = closed_form(plan, why);
    ASSERT_TRUE(expected) << why;
    // The others wait for it, and it for nobody.
    expect_equal(all.ranks[3], *expected, 1e-9);
  }
}

TEST(ClusterIteration, OfOneRankWaitsForNobody) {
  const RankSpread spread{0.1};
  const ComputeFactors factors = drawn_factors(spread, 1, 40, 5);
  const ClusterIteration one = simulate_cluster(one_message(), {1, 1}, factors, {1, 39});
  double sum = 0;
  for (std::size_t k = 1; k < 40; ++k) sum += factors.at(0, k);
  EXPECT_NEAR(one.total.si(), sum / 39 + 0.25, 1e-9);
  EXPECT_EQ(one.waiting.front().si(), 0);
}

/// The slowest of N sets the pace of a step with one message. `deviation` of the slowest is that of
/// one drawn step, so that the mean of 200 is off by less than 0.3 of it in all but 2e-5 of cases.
void expect_order_statistics(const RankSpread& spread, int ranks, double deviation_of_slowest) {
  constexpr int iterations = 200;
  const ComputeFactors factors = drawn_factors(spread, ranks, iterations + 1, 3);
  const Seconds total = simulate_cluster(one_message(), {ranks, 4}, factors, {1, iterations}).total;
  const Seconds expected = expected_slowest(Seconds(1), spread, ranks) + Seconds(0.25);
  EXPECT_NEAR(total.si(), expected.si(), 0.3 * deviation_of_slowest);
  const Seconds at_most = slowest_at_most(Seconds(1), Seconds(spread.deviation), ranks);
  EXPECT_LE(total.si(), at_most.si() + 0.25 + 0.3 * deviation_of_slowest);
}

TEST(ClusterIteration, WithSpreadIsWhatOrderStatisticsExpect) {
  // σ of the largest: of the log-normal, e^(s z - s²/2), about s times the mean of the largest.
  expect_order_statistics({0.3}, 64, 0.3);
  expect_order_statistics({0.05}, 64, 0.05);
  expect_order_statistics({0.05}, 2, 0.05);
}

TEST(ClusterIteration, NeverBeatsItsSlowestRankNorEqualOnes) {
  std::mt19937 random(45);
  for (int trial = 0; trial < 12; ++trial) {
    IterationPlan plan = random_plan(random, Schedule::wait_free);
    plan.storage = Seconds();
    std::vector<double> by_rank;
    by_rank.reserve(6);
    for (int rank = 0; rank < 6; ++rank) {
      by_rank.push_back(1 + 0.01 * static_cast<double>(random() % 50));
    }
    const auto total = [&](const ComputeFactors& factors) {
      return simulate_cluster(plan, {6, 3}, factors, {24, 1}).total.si();
    };
    const double uneven = total(ComputeFactors(by_rank));
    const double slowest = total(ComputeFactors({std::ranges::max(by_rank)}));
    EXPECT_GE(uneven, total(ComputeFactors()) * (1 - 1e-9));
    EXPECT_NEAR(uneven, slowest, 1e-9 * slowest);
  }
}

TEST(ClusterIteration, TakesNothingWhereThereIsNothingToDo) {
  IterationPlan plan;
  EXPECT_EQ(simulate_cluster(plan, {3, 2}, ComputeFactors(), {}).total, Seconds());
  plan.backward = {{Seconds(), Seconds()}};
  EXPECT_EQ(simulate_cluster(plan, {3, 2}, ComputeFactors(), {}).total, Seconds());
  const StragglerCost cost = straggler_cost(plan, {3, 2}, {1});
  EXPECT_EQ(cost.drawn, Seconds());
  EXPECT_EQ(cost.expected, Seconds());
}

/// Three ranks on nodes of two: that by itself reads in half the time, and waits for the others at
/// the message instead.
TEST(ClusterIteration, SharesThePathToStorageInANode) {
  IterationPlan plan = one_message();
  plan.storage = Seconds(3);
  const ClusterIteration all = simulate_cluster(plan, {3, 2}, ComputeFactors(), {8, 1});
  EXPECT_NEAR(all.total.si(), 3, 1e-9);
  EXPECT_NEAR(all.ranks[0].io.si(), 3 - 1.25, 1e-9);
  EXPECT_NEAR(all.ranks[1].io.si(), 3 - 1.25, 1e-9);
  EXPECT_NEAR(all.ranks[2].io.si(), 0, 1e-9);
  EXPECT_NEAR(all.waiting[2].si(), 3 - 1.25, 1e-9);
  EXPECT_NEAR(all.ranks[2].exposed_comm.si(), 3 - 1, 1e-9);
}

/// Stages of a node that four workers share, read ahead, and copies beside computing.
TEST(ClusterIteration, GoesAtThePaceOfTheSlowestStageOfInput) {
  std::mt19937 random(46);
  std::uniform_real_distribution<double> factor(0.2, 1.8);
  for (int trial = 0; trial < 15; ++trial) {
    const SampleCost sample{Bytes(1e5 * factor(random)), Seconds(4e-3 * factor(random))};
    const InputNode node{BytesPerSecond(4e8 * factor(random)), 16};
    const Seconds copy(factor(random));
    const double samples = 4 * 1000;
    IterationPlan plan = one_message();
    plan.loader_threads = 4;
    plan.input_copy = InputCopy::ahead;
    plan.storage = samples * sample.stored / *node.read;
    plan.load = samples * sample.decode / node.threads;
    plan.h2d = copy;
    const Seconds input = std::max(Seconds(samples / input_rate(sample, node).samples_per_s), copy);
    const Seconds expected(std::max(1.25, input.si()));
    const ClusterIteration all = simulate_cluster(plan, {8, 4}, ComputeFactors(), {24, 1});
    EXPECT_NEAR(all.total.si(), expected.si(), 1e-9);
    EXPECT_NEAR(simulate_iteration(plan).total.si(), expected.si(), 1e-9);
  }
}

/// Five ranks on nodes of two, whose links are two thirds as fast as the server: those of the full
/// nodes are held up by the server, and the one by itself by its own link.
TEST(ClusterIteration, SharesTheServerOfAllNodesFairly) {
  IterationPlan plan = one_message();
  const auto of_server = [&](double server, double node) {
    plan.shared_storage = SharedStorage{Bytes(6), BytesPerSecond(server), BytesPerSecond(node)};
    return simulate_cluster(plan, {5, 2}, ComputeFactors(), {8, 1});
  };
  const ClusterIteration slow = of_server(6, 60);
  EXPECT_NEAR(slow.total.si(), 5 * 6 / 6.0, 1e-9);  // five batches at the server's rate
  EXPECT_NEAR(slow.ranks[4].io.si(), 5 - 1.25, 1e-9);
  const ClusterIteration paths = of_server(600, 4);
  EXPECT_NEAR(paths.total.si(), 2 * 6 / 4.0, 1e-9);  // two at that of a full node
  EXPECT_NEAR(paths.ranks[0].io.si(), 3 - 1.25, 1e-9);
  EXPECT_NEAR(paths.ranks[4].io.si(), 0, 1e-9);  // it has read while it waits for the others
  EXPECT_NEAR(paths.waiting[4].si(), 3 - 1.25, 1e-9);
}

/// What storage_time() says of equal ranks.
TEST(ClusterIteration, OfEqualRanksOnAServerIsThatOfOneForAll) {
  std::mt19937 random(47);
  std::uniform_real_distribution<double> rate(1, 20);
  for (int trial = 0; trial < 10; ++trial) {
    IterationPlan plan = one_message();
    const Bytes batch(4);
    const BytesPerSecond server(4 * rate(random));
    const BytesPerSecond node(rate(random));
    plan.shared_storage = SharedStorage{batch, server, node};
    plan.storage = 4 * batch / shared_read(node, server, 3);
    const Seconds all = simulate_cluster(plan, {12, 4}, ComputeFactors(), {12, 1}).total;
    EXPECT_NEAR(all / simulate_iteration(plan).total, 1, 1e-9) << trial;
  }
}

TEST(ComputeFactors, HaveTheMeanAndDeviationTheyAreDrawnWith) {
  for (const RankSpread& spread : {RankSpread{0.1}, RankSpread{0.3}}) {
    const std::size_t n = 40'000;
    const ComputeFactors factors = drawn_factors(spread, 100, n / 100, 7);
    double sum = 0;
    double square = 0;
    for (std::size_t k = 0; k < n / 100; ++k) {
      for (Rank rank = 0; rank < 100; ++rank) {
        EXPECT_GT(factors.at(rank, k), 0);
        sum += factors.at(rank, k);
        square += std::pow(factors.at(rank, k) - 1, 2);
      }
    }
    // 4 standard errors of the mean, σ/√n; of σ by far less than 5 %.
    EXPECT_NEAR(sum / n, 1, 4 * spread.deviation / 200);
    EXPECT_NEAR(std::sqrt(square / n), spread.deviation, 0.05 * spread.deviation);
  }
}

TEST(ComputeFactors, AreTheSameForTheSameSeedAndRepeat) {
  const RankSpread spread{0.2};
  const ComputeFactors a = drawn_factors(spread, 3, 2, 11);
  const ComputeFactors b = drawn_factors(spread, 3, 2, 11);
  const ComputeFactors other = drawn_factors(spread, 3, 2, 12);
  EXPECT_EQ(a.at(2, 1), b.at(2, 1));
  EXPECT_NE(a.at(2, 1), other.at(2, 1));
  EXPECT_NE(a.at(0, 0), a.at(1, 0));
  EXPECT_EQ(a.at(0, 0), a.at(0, 2));  // from the start again
  EXPECT_THROW(drawn_factors({10.1}, 1, 1, 1), std::logic_error);
  EXPECT_THROW(drawn_factors({NAN}, 1, 1, 1), std::logic_error);
  EXPECT_THROW(ComputeFactors({1, 0}), std::logic_error);
  EXPECT_THROW(ComputeFactors{std::vector<double>{}}, std::logic_error);
}

TEST(StragglerCost, IsThatOfOrderStatisticsWhereRanksMeetOnce) {
  for (const int ranks : {2, 16, 128}) {
    const StragglerCost cost = straggler_cost(one_message(), {ranks, 4}, {0.05});
    EXPECT_NEAR(cost.drawn.si(), cost.expected.si(), 0.12 * cost.expected.si()) << ranks;
  }
}

TEST(StragglerCost, IsNothingWhereInputSetsThePace) {
  IterationPlan plan = one_message();
  plan.load = Seconds(10);
  const StragglerCost cost = straggler_cost(plan, {16, 4}, {0.05});
  EXPECT_NEAR(cost.drawn.si(), 0, 1e-3);  // of 256 iterations only the ends of two vary
  EXPECT_GT(cost.expected.si(), 0.05);
}

/// Penalties of single messages do not add up.
TEST(StragglerCost, OfManyMessagesIsNoMoreThanOfOne) {
  IterationPlan plan = one_message();
  plan.backward.assign(30, {Seconds(0.02), Seconds(0.005)});
  const StragglerCost cost = straggler_cost(plan, {64, 8}, {0.05});
  EXPECT_NEAR(cost.drawn.si(), cost.expected.si(), 0.12 * cost.expected.si());
}

TEST(StragglerCost, RefusesWhatTheGraphOfAllRanksLeavesOutAndTooManyRanks) {
  IterationPlan plan = one_message();
  EXPECT_THROW((void)straggler_cost(plan, {100'000'000, 8}, {0.05}), ConfigError);
  plan.forward = LaunchedWork::step(Seconds(0.1), Seconds(0.4));
  EXPECT_THROW((void)straggler_cost(plan, {2, 1}, {0.05}), ConfigError);
  EXPECT_THROW((void)simulate_cluster(plan, {2, 1}, ComputeFactors(), {}), std::logic_error);
  plan.forward = Seconds(0.4);
  EXPECT_THROW((void)simulate_cluster(plan, {0, 1}, ComputeFactors(), {}), std::logic_error);
}

/// AlexNet on nodes of four P40, evenly and with computing that varies by 5 %.
struct Stragglers {
  std::vector<Prediction> even;
  std::vector<Prediction> uneven;
};
Stragglers stragglers(std::span<const int> ranks, Schedule schedule, const RankSpread& even = {}) {
  const Network network = load_network("alexnet");
  const Machine machine = nominal_machine(load_cluster("p40x16"));
  dlscale::Run run;
  run.network = "alexnet";
  run.cluster = "p40x16";
  run.ranks_per_node = 4;
  run.batch = 32;
  run.loader_threads = 6;
  run.schedule = schedule;
  return {predict(network, machine, run, ranks, even),
          predict(network, machine, run, ranks, {0.05})};
}

TEST(Prediction, HasStragglersOnSeveralRanksOnly) {
  const int ranks[] = {1, 8};
  const auto [even, uneven] = stragglers(ranks, Schedule::wait_free);
  EXPECT_EQ(uneven[0].time.total, even[0].time.total);
  EXPECT_TRUE(uneven[0].closed_form);
  EXPECT_EQ(uneven[0].notes, even[0].notes);
  EXPECT_FALSE(uneven[1].closed_form);
  EXPECT_TRUE(mentions(uneven[1], "computing varies by 5 % (log-normal, as stated)"));
  EXPECT_NEAR(uneven[1].images_per_s, 8 * 32 / uneven[1].time.total.si(), 1e-6);
}

TEST(Prediction, AddsWhatRanksWaitForStragglersUnderEverySchedule) {
  const int ranks[] = {8};
  for (const Schedule schedule : all_schedules) {
    SCOPED_TRACE(schedule_name(schedule));
    const RankSpread hardly{1e-6};  // in place of the fitted wait for the slowest
    const auto [all_even, all_uneven] = stragglers(ranks, schedule, hardly);
    const Prediction& even = all_even.front();
    const Prediction& uneven = all_uneven.front();
    const Seconds added = uneven.time.total - even.time.total;
    const Seconds computing = even.time.forward + even.time.backward + even.time.update;
    EXPECT_GT(added, Seconds());
    // Ranks meet before each message, so that what they wait is that of all computing at most; a
    // look may come a cycle later for it.
    const Seconds cycle = schedule == Schedule::horovod ? ScheduleSettings().cycle : Seconds();
    EXPECT_LE(added, 1.1 * 0.05 * expected_normal_maximum(8) * computing + cycle);
    EXPECT_TRUE(mentions(uneven, NoteKind::stragglers));
    expect_phases_add_up(uneven.time);
  }
}

}  // namespace
}  // namespace dlscale::model
