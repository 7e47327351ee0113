// All-reduces by the algorithm that somebody asks for.
#include "model/sgd_iter/messages/all_reduce_override.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/cluster/cluster.hpp"
#include "core/collective/schedule.hpp"
#include "core/collective/selection/selection.hpp"
#include "model/calibrate/calibrate.hpp"
#include "model/sgd_iter/messages/message_time.hpp"
#include "model/sgd_iter/predict.hpp"
#include "tests/core/support.hpp"
#include "tests/model/nominal_ring.hpp"
#include "tests/model/notes_of.hpp"
#include "tests/model/synthetic.hpp"

namespace dlscale::model {
namespace {

using collective::Algorithm;
using collective::Collective;
using collective::Link;

constexpr Bytes element(4);
constexpr Link pair_link{Seconds(2e-5), SecondsPerByte(1e-9), SecondsPerByte(2e-10)};

Segment line(const Link& link) {
  return {Bytes(4),
          Bytes(1e9),
          Estimate<Seconds>::exact(link.alpha),
          Estimate<SecondsPerByte>::exact(link.beta),
          0,
          3};
}

/// What was measured of messages from one rank to another, within a node or between nodes.
CollectiveFit pair(int ranks_on_node, const Link& link) {
  CollectiveFit fit;
  fit.collective = "sendrecv";
  fit.ranks_on_node = ranks_on_node;
  fit.cost = Piecewise({line(link)});
  return fit;
}

/// Knows the link within a node, and what adding takes.
Machine with_pair() {
  Machine machine;
  machine.fitted = true;
  machine.cluster = synthetic::two_workers();
  machine.collectives = {pair(2, pair_link)};
  machine.reduction = ReductionTime{Estimate<SecondsPerByte>::exact(pair_link.gamma), "a test"};
  return machine;
}

class Asked : public testing::Test {
 protected:
  double seconds(const std::string& name, const Placement& placement, double bytes) {
    return AllReduceOverride(machine_, placement, Schedule::wait_free, name, notes_)
        .time(Bytes(bytes))
        .value.si();
  }
  double on_one_node(const std::string& name, int ranks, double bytes) {
    return seconds(name, {ranks, ranks}, bytes);
  }
  std::string refusal(const std::string& name, const Placement& placement) {
    return test::config_error([&] { static_cast<void>(seconds(name, placement, 1e6)); });
  }
  void expect_refused(const std::string& name, const Placement& placement, const std::string& why) {
    const std::string text = refusal(name, placement);
    test::expect_contains(text, "all-reduce by " + name);
    test::expect_contains(text, why);
  }

  Machine machine_ = with_pair();
  Notes notes_;
};

TEST_F(Asked, TakeAsLongAsTheirSimulatedSchedules) {
  for (const Algorithm* algorithm : collective::algorithms_of(Collective::all_reduce)) {
    const collective::Traits& reads = algorithm->traits;
    if (reads.servers || reads.switches || !algorithm->inexact.empty()) continue;
    for (const int p : {2, 3, 4, 7, 8}) {
      for (const double bytes : {840.0, 840e3}) {  // whole elements for every p
        collective::Settings settings{.p = p, .ranks_on_node = p};
        settings.segments = collective::best_segments(*algorithm, {pair_link, pair_link}, settings,
                                                      Bytes(bytes), element);
        const Seconds simulated =
            collective::time(algorithm->schedule(settings), pair_link, Bytes(bytes));
        EXPECT_NEAR(on_one_node(std::string(algorithm->name), p, bytes), simulated.si(),
                    1e-9 * simulated.si())
            << algorithm->name << p << ' ' << bytes;
      }
    }
  }
}

TEST_F(Asked, OfAChainAreCutSoThatTheyTakeLeast) {
  const Bytes m(1e7);
  const Link no_adding{pair_link.alpha, pair_link.beta, {}};
  for (const int p : {3, 5, 9}) {
    const double found = on_one_node("chain", p, m.si());
    const Seconds bound = collective::optimal_chain_time(pair_link, p, m) +
                          collective::optimal_chain_time(no_adding, p, m);
    EXPECT_GE(found, bound.si() * (1 - 1e-12));
    EXPECT_LE(found, bound.si() * 1.01);
  }
  const std::string notes = all(notes_.all());
  test::expect_contains(notes, "all-reduce by chain, as asked");
  test::expect_contains(notes, "9.54 MiB in ");
  test::expect_contains(notes, " segments of ");
}

TEST_F(Asked, OfBothLevelsAreOverBothLinks) {
  machine_.collectives.clear();
  machine_.reduction.reset();
  machine_.cluster = load_cluster("p40x16");
  const Placement placement{16, 4};
  const double expected = hierarchical_all_reduce(machine_.cluster, placement, Bytes(1e7)).si();
  EXPECT_NEAR(seconds("hierarchical", placement, 1e7), expected, 1e-9 * expected);
  test::expect_contains(all(notes_.all()),
                        "data sheet of the link between nodes and the data sheet of "
                        "the link within a node");
}

TEST_F(Asked, OfOneLevelCrossInEachRoundTheLinksThatItsMessagesTake) {
  const Link outside{Seconds(1e-5), SecondsPerByte(3e-9), {}};
  machine_.collectives.push_back(pair(1, outside));
  machine_.reduction.reset();
  // Twice two ranks, 1 MB. Within a node 20 us and 1 ns/B, between them 10 us and 3 ns/B.
  const Placement twice_two{4, 2};
  EXPECT_NEAR(seconds("ring", twice_two, 1e6), 6 * (1e-5 + 0.75e-3), 1e-12);
  // First with the neighbour, then two ranks of a node with those of the other.
  EXPECT_NEAR(seconds("recursive_doubling", twice_two, 1e6), (2e-5 + 1e-3) + (1e-5 + 6e-3), 1e-12);
  // Halves between nodes, two at once, then quarters within them; and back.
  EXPECT_NEAR(seconds("rabenseifner", twice_two, 1e6), 2 * ((1e-5 + 3e-3) + (2e-5 + 0.25e-3)),
              1e-12);
  // To the neighbour, then one message to the other node; and back.
  EXPECT_NEAR(seconds("binomial", twice_two, 1e6), 2 * ((2e-5 + 1e-3) + (1e-5 + 3e-3)), 1e-12);
  EXPECT_NEAR(seconds("ring", {4, 1}, 1e6), 6 * (1e-5 + 0.75e-3), 1e-12);
}

TEST_F(Asked, DoNotChargeTheAdapterForRoundsThatStayInTheNode) {
  machine_ = nominal_machine(load_cluster("p40x16"));
  machine_.fitted = true;  // but no messages were measured
  const double m = 1e8;
  const double inside = 5.7e-6 + m / 15.75e9;
  const auto outside = [&](int sharers) { return 14e-6 + sharers * m / (54.54e9 / 8); };
  // 4 nodes of 4: distances 1 and 2 are in the node, 4 and 8 take all four ranks out of it.
  EXPECT_NEAR(seconds("recursive_doubling", {16, 4}, m), 2 * inside + 2 * outside(4), 1e-9);
  // 5 ranks: 0 folds into 1, and only one of 1, 2, 3 and 4 is on the other node.
  EXPECT_NEAR(seconds("recursive_doubling", {5, 4}, m), 2 * inside + 2 * outside(1), 1e-9);
  EXPECT_NEAR(seconds("recursive_doubling", {4, 4}, m), 2 * inside, 1e-9);
}

TEST_F(Asked, FollowTheRulesOfLibraries) {
  for (const double bytes : {4.0, 64.0, 1e4, 1e6, 1e8}) {
    const auto choice = collective::open_mpi_fixed(Collective::all_reduce, 6, Bytes(bytes));
    ASSERT_NE(choice.algorithm, nullptr) << choice.name;
    const Seconds expected = choice.algorithm->cost({pair_link, pair_link}, {.p = 6}, Bytes(bytes));
    EXPECT_NEAR(on_one_node("open_mpi", 6, bytes), expected.si(), 1e-9 * expected.si());
  }
  EXPECT_EQ(on_one_node("gloo", 4, 1e6), on_one_node("ring", 4, 1e6));
  EXPECT_EQ(on_one_node("horovod_hierarchical", 4, 1e6), on_one_node("ring", 4, 1e6));
  EXPECT_EQ(on_one_node("mpich", 4, 8), on_one_node("recursive_doubling", 4, 8));
  EXPECT_EQ(on_one_node("mpich", 4, 1e6), on_one_node("rabenseifner", 4, 1e6));
  for (const double bytes : {8.0, 1e4, 1e6, 1e8}) {
    const double best = on_one_node("best", 6, bytes);
    bool is_one = false;
    for (const std::string& name : all_reduce_overrides()) {
      const double time = on_one_node(name, 6, bytes);
      EXPECT_LE(best, time) << name;
      is_one |= best == time && name != "best";
    }
    EXPECT_TRUE(is_one) << bytes;
  }
}

TEST_F(Asked, TakeTheLinkOfTheSizeThatTravelsAtOnce) {
  const Link slow{Seconds(1e-3), SecondsPerByte(1e-9), {}};
  Segment small = line(pair_link);
  small.to = Bytes(1e5);
  Segment large = line(slow);
  large.from = Bytes(1e5);
  machine_.collectives.front().cost = Piecewise({small, large});
  machine_.reduction.reset();
  // A ring of 8 sends pieces of an eighth.
  const Algorithm* ring = collective::find(Collective::all_reduce, "ring");
  const Link quick{pair_link.alpha, pair_link.beta, {}};
  for (const auto& [bytes, link] : {std::pair(4e5, quick), std::pair(1e6, slow)}) {
    const Seconds expected = ring->cost({link, link}, {.p = 8}, Bytes(bytes));
    EXPECT_NEAR(on_one_node("ring", 8, bytes), expected.si(), 1e-9 * expected.si());
  }
}

TEST_F(Asked, AreRefusedByNameWhereTheyCannotBePredicted) {
  expect_refused("in_network", {4, 4}, "switches");
  expect_refused("parameter_server", {4, 4}, "synchronisation by parameter servers");
  expect_refused("hierarchical", {3, 2}, "needs as many ranks on each node");
  expect_refused("ring", {4, 2}, "no latency and bandwidth between nodes");
  machine_.collectives.clear();
  expect_refused("ring", {2, 2}, "no latency and bandwidth within a node");
  const std::string unknown = refusal("rnig", {2, 2});
  test::expect_contains(unknown, "Did you mean \"ring\"?");
}

/// Open MPI's selection names algorithms that have no closed form here, for sizes of which some are
/// never sent.
TEST_F(Asked, OfALibraryAreRefusedForTheSizesOfWhichNothingIsKnown) {
  machine_ = nominal_machine(load_cluster("p40x16"));
  machine_.fitted = true;  // but no messages were measured
  const Placement placement{128, 4};
  // On 2,048 ranks a reduce of 512 B goes along a tree of which no closed form is known.
  const Placement many{2048, 4};
  EXPECT_GT(seconds("open_mpi", many, 1e6), 0);
  test::expect_contains(
      test::config_error([&] { static_cast<void>(seconds("open_mpi", many, 512)); }),
      "on 2048 ranks it takes in-order_binary for a message "
      "of 512 B, of which no closed form is known");
  // One element: a reduce and a broadcast, each along a binomial tree.
  const auto one = [&](const char* name, Collective collective) {
    return SingleLevelRounds(*collective::find(collective, name), placement)
        .time({{Seconds(14e-6), SecondsPerByte(8 / 54.54e9), {}},
               {Seconds(5.7e-6), SecondsPerByte(1 / 15.75e9), {}}},
              1, Bytes(1))
        .si();
  };
  const double both = one("binomial", Collective::reduce) + one("binomial", Collective::broadcast);
  EXPECT_NEAR(seconds("open_mpi", placement, 1), both, 1e-9 * both);
  const std::string notes = all(notes_.all());
  test::expect_contains(notes, "by a reduce by binomial and a broadcast by binomial");
}

TEST_F(Asked, AreOverTheLinkThatWasStated) {
  machine_.cluster.inter_node.bandwidth = 1.25_GBps;
  machine_.cluster.inter_node.latency = Seconds(5e-5);
  machine_.collectives.push_back(pair(1, pair_link));
  const double measured = seconds("ring", {4, 1}, 1e6);
  machine_.inter_node_stated = true;
  machine_.reduction.reset();
  const double stated = seconds("ring", {4, 1}, 1e6);
  EXPECT_NEAR(stated, 6 * (5e-5 + 1e6 / 4 / 1.25e9), 1e-9);
  const Estimate<Seconds> time =
      AllReduceOverride(machine_, {4, 1}, Schedule::wait_free, "ring", notes_).time(Bytes(1e6));
  EXPECT_NEAR(time.low.si(), 6 * 1e6 / 4 / 1.25e9, 1e-9);  // no start-ups
  EXPECT_GT(time.high, 1.15 * time.value);                 // start-ups of TCP
  EXPECT_NE(stated, measured);
}

TEST_F(Asked, OfALibraryTakenAsARingGiveItsTimeBack) {
  machine_ = calibrate(synthetic::two_workers(), synthetic::results(synthetic::branched(), 8));
  for (const double bytes : {4e3, 1e6, 1e8}) {
    EXPECT_NEAR(on_one_node("ring", 2, bytes), synthetic::all_reduce_seconds(bytes),
                1e-6 * synthetic::all_reduce_seconds(bytes));
  }
  test::expect_contains(all(notes_.all()), "all-reduces on 2 ranks within a node, taken as a ring");
}

TEST_F(Asked, AreAsMeasuredWhereTheAlgorithmWasCarriedOut) {
  AlgorithmFit fit;
  fit.carrier = {"all_reduce", ChosenBy::caller, "binomial", 1};
  fit.waiting = "sleep";
  fit.asked = "binomial";
  fit.range_of = RangeOf::transfer;
  const Segment own = line({Seconds(1e-3), SecondsPerByte(3e-9), {}});
  fit.layouts = {{{4, 4}, Piecewise({own}), own}};
  machine_.algorithms = {fit};
  EXPECT_NEAR(on_one_node("binomial", 4, 1e6), 4e-3, 1e-9);
  test::expect_contains(all(notes_.all()), "from measured messages of this algorithm");
  EXPECT_LT(on_one_node("ring", 4, 1e6), 4e-3);
}

TEST_F(Asked, SetThePaceOfTrainingAndNotOfMeetings) {
  const Network network = synthetic::branched();
  machine_ = calibrate(synthetic::two_workers(), synthetic::results(network, 8));
  CollectiveFit spinning = machine_.collectives.front();
  spinning.waiting = "spin";
  machine_.collectives.push_back(spinning);
  dlscale::Run run;
  run.network = network.name();
  run.ranks = run.ranks_per_node = 2;
  run.batch = 8;
  run.schedule = Schedule::sequential;
  const int ranks[] = {2};
  const double barrier = barrier_time(machine_, {2, 2}, notes_).value.si();
  const Prediction measured = predict(network, machine_, run, ranks).front();
  machine_.all_reduce_override = "binomial";  // each message is sent twice
  const Prediction asked = predict(network, machine_, run, ranks).front();
  EXPECT_TRUE(mentions(asked, "all-reduce by binomial, as asked")) << all(asked.notes);
  EXPECT_FALSE(mentions(measured, "as asked"));
  EXPECT_GT(asked.time.exposed_comm, measured.time.exposed_comm);
  EXPECT_EQ(barrier_time(machine_, {2, 2}, notes_).value.si(), barrier);
  machine_.all_reduce_override = "hierarchical_leaders";
  EXPECT_TRUE(mentions(predict(network, machine_, run, ranks).front(), "hierarchical_leaders"));
}

}  // namespace
}  // namespace dlscale::model
