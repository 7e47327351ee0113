// Collectives other than all-reduce.
#include "model/sgd_iter/messages/collective_time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/collective/algorithm.hpp"
#include "model/calibrate/calibrate.hpp"
#include "model/sgd_iter/cluster/max_min_fair_links.hpp"
#include "tests/core/support.hpp"
#include "tests/model/notes_of.hpp"
#include "tests/model/synthetic.hpp"

namespace dlscale::model {
namespace {

using namespace synthetic;
using collective::Collective;

class Collectives : public testing::Test {
 protected:
  CollectiveTimes times(Collective collective, int ranks) {
    return times(collective, Placement{ranks, ranks});
  }
  CollectiveTimes times(Collective collective, const Placement& place) {
    place_ = place;
    all_reduce_.emplace(machine_, place_, schedule_, notes_);
    return {machine_, place_, collective, schedule_, *all_reduce_, notes_};
  }
  [[nodiscard]] double seconds(Collective collective, int ranks, double bytes) {
    return times(collective, ranks).time(Bytes(bytes)).value.si();
  }
  /// As calibrate() would fit one that always takes `time`.
  void add_fit(const std::string& collective, double time, const std::string& waiting) {
    CollectiveFit fit = machine_.collectives.front();
    fit.collective = collective;
    fit.waiting = waiting;
    const Segment segment{Bytes(4), Bytes(1e9), Estimate<Seconds>::exact(Seconds(time)), {}, 0, 3};
    fit.cost = Piecewise({segment});
    machine_.collectives.push_back(fit);
  }
  /// The same on 4 ranks of two nodes.
  void add_fit_across_nodes(const std::string& collective, double time) {
    add_fit(collective, time, "sleep");
    machine_.collectives.back().ranks = 4;
    machine_.collectives.back().ranks_on_node = 2;
  }
  Machine machine_ = calibrate(two_workers(), results(branched(), 8));
  Placement place_;
  Notes notes_;
  std::optional<MessageTimes> all_reduce_;
  Schedule schedule_ = Schedule::wait_free;
};

TEST_F(Collectives, AreAsMeasuredOnTheRanksMeasured) {
  add_fit("reduce", 3, "sleep");
  add_fit("reduce", 5, "spin");
  EXPECT_EQ(seconds(Collective::reduce, 2, 1e6), 3);
  schedule_ = Schedule::sequential;
  EXPECT_EQ(seconds(Collective::reduce, 2, 1e6), 5);
  EXPECT_EQ(times(Collective::reduce, 2).source(Bytes(1e6)), TimeSource::fitted);
  EXPECT_EQ(all(notes_.all()).find("over the link"), std::string::npos);
}

/// Another link was stated than the one that they were measured over.
TEST_F(Collectives, TakeAStatedLinkInPlaceOfOneMeasured) {
  const Placement two_nodes{4, 2};
  machine_.cluster.inter_node.bandwidth = BytesPerSecond(1e8);
  machine_.cluster.inter_node.latency = Seconds(1e-3);
  for (const Collective each : {Collective::reduce, Collective::broadcast,
                                Collective::reduce_scatter, Collective::all_gather}) {
    machine_.inter_node_stated = true;
    const double derived = times(each, two_nodes).time(Bytes(1e6)).value.si();
    const std::string name(to_string(each));
    add_fit_across_nodes(name, 7);
    machine_.inter_node_stated = false;
    EXPECT_EQ(times(each, two_nodes).time(Bytes(1e6)).value.si(), 7) << name;
    machine_.inter_node_stated = true;
    EXPECT_EQ(times(each, two_nodes).time(Bytes(1e6)).value.si(), derived) << name;
    EXPECT_NE(times(each, two_nodes).source(Bytes(1e6)), TimeSource::fitted) << name;
    const std::string notes = all(notes_.all());
    test::expect_contains(notes, name + " measured across nodes is not used");
    test::expect_contains(notes, "0.1 GB/s, 1000 us");
    test::expect_contains(
        notes, name + " was not measured on this many ranks over the link that you stated");
    add_fit(name, 3, "sleep");  // within a node nothing changes
    EXPECT_EQ(seconds(each, 2, 1e6), 3) << name;
  }
}

TEST_F(Collectives, SayHowRanksMetWhereThatIsNotAsTheyTrain) {
  add_fit("reduce", 5, "spin");
  EXPECT_EQ(seconds(Collective::reduce, 2, 1e6), 5);
  test::expect_contains(all(notes_.all()),
                        "reduce of ranks waiting by sleep was not measured, as wait_free ranks "
                        "wait: that of spin");
  notes_ = {};
  schedule_ = Schedule::sequential;
  EXPECT_EQ(seconds(Collective::reduce, 2, 1e6), 5);
  EXPECT_FALSE(mentions(notes_.all(), NoteKind::collective_other_waiting));
}

TEST_F(Collectives, AreHalvesOfAnAllReduceWhereTheyAreAndSaySo) {
  for (const Collective half : {Collective::reduce_scatter, Collective::all_gather}) {
    for (const int ranks : {2, 8}) {
      const double time = seconds(half, ranks, 1e6);
      EXPECT_EQ(time, 0.5 * all_reduce_->time(Bytes(1e6)).value.si());
    }
  }
  test::expect_contains(all(notes_.all()),
                        "all_gather was not measured on this many ranks: half");
  EXPECT_EQ(times(Collective::all_gather, 8).source(Bytes(1e6)), TimeSource::extrapolated);
}

TEST_F(Collectives, FollowFromTheLinkOfAnAllReduceElseAndSaySo) {
  // On 2 ranks a ring takes 2 α + m β, one message α + m β.
  const double smallest = all_reduce_seconds(4);
  const double whole = all_reduce_seconds(1e6);
  for (const Collective one : {Collective::reduce, Collective::broadcast}) {
    EXPECT_NEAR(seconds(one, 2, 1e6), smallest / 2 + (whole - smallest), 1e-9);
  }
  test::expect_contains(all(notes_.all()), "broadcast was not measured on this many ranks");
}

TEST_F(Collectives, SayTheSameOfEveryNumberOfRanksAndSize) {
  for (const int ranks : {2, 4, 8, 16}) {
    for (const double bytes : {4.0, 1e5, 5e7}) {
      EXPECT_GT(seconds(Collective::broadcast, ranks, bytes), 0);
    }
  }
  const std::vector<std::string> notes = report::note_texts(notes_.all());
  const auto of_broadcast = [](const std::string& note) { return note.starts_with("broadcast"); };
  EXPECT_EQ(std::ranges::count_if(notes, of_broadcast), 1) << all(notes_.all());
}

TEST_F(Collectives, TakeTheFasterAlgorithmBySize) {
  // Few bytes go down a tree of 3 steps; of many, each rank sends less by scattering them first.
  const double p = 8;
  const double m = 5e7;
  times(Collective::broadcast, 8);
  const double smallest = all_reduce_->time(Bytes(4)).value.si();
  const double alpha = smallest / (2 * (p - 1));
  EXPECT_NEAR(seconds(Collective::broadcast, 8, 4), 3 * alpha, 1e-12);
  const double beta = (all_reduce_->time(Bytes(m)).value.si() - smallest) / m * p / (2 * (p - 1));
  const double scattered = 6 * alpha + 2 * (p - 1) / p * m * beta;
  EXPECT_LT(scattered, 3 * (alpha + m * beta));
  EXPECT_NEAR(seconds(Collective::broadcast, 8, m), scattered, 1e-9 * scattered);
}

/// Rounds of messages, one after another, that share the ways out of and into ranks and nodes of
/// `beta` s/B fairly, and whose latency comes on top.
double time_of_flows(const collective::Schedule& schedule, const Placement& place, double alpha,
                     double beta, double m) {
  MaxMinFairLinks links;
  const auto add_links = [&](int count) {
    std::vector<LinkId> added;
    for (int i = 0; i < count; ++i) added.push_back(links.add(BytesPerSecond(1 / beta)));
    return added;
  };
  const std::vector<LinkId> out = add_links(place.ranks);
  const std::vector<LinkId> in = add_links(place.ranks);
  const std::vector<LinkId> node_out = add_links(place.nodes());
  const std::vector<LinkId> node_in = add_links(place.nodes());
  double latency = 0;
  Seconds now;
  for (const collective::Round& round : schedule.rounds) {
    std::map<std::pair<Rank, Rank>, int> messages;
    for (const collective::Transfer& one : round) {
      if (one.from != one.to) messages[{one.from, one.to}] += one.count;
    }
    std::uint32_t number = 0;
    for (const auto& [ends, slots] : messages) {
      const auto [from, to] = ends;
      std::vector<LinkId> path{out.at(static_cast<std::size_t>(from)),
                               in.at(static_cast<std::size_t>(to))};
      if (place.node(from) != place.node(to)) {
        path.push_back(node_out.at(static_cast<std::size_t>(place.node(from))));
        path.push_back(node_in.at(static_cast<std::size_t>(place.node(to))));
      }
      links.begin(number++, Bytes(m * slots / schedule.chunks), path, now);
    }
    for (; number > 0; --number) {
      now = links.next();
      links.end();
    }
    latency += alpha;
  }
  return now.si() + latency;
}

/// By nominal links a ring takes what its closed form says, so that the link derived of it is the
/// one between nodes.
TEST_F(Collectives, ShareTheWayOutOfANodeAsFlowsDo) {
  machine_ = nominal_machine(load_cluster("p40x16"));
  machine_.fitted = true;  // but no messages were measured
  const Placement place{16, 4};
  const double m = 1e8;
  for (const Collective each : {Collective::reduce, Collective::broadcast}) {
    const double said = times(each, place).time(Bytes(m)).value.si();
    const collective::Link link = ring_link(machine_.cluster, place);
    const double alpha = all_reduce_->time(Bytes(4)).value.si() / (2 * (place.ranks - 1));
    double least = std::numeric_limits<double>::infinity();
    for (const collective::Algorithm* one : collective::algorithms_of(each)) {
      const collective::Settings settings{.p = place.ranks};
      if (one->traits.segments || one->traits.two_levels) continue;
      const double flows = time_of_flows(one->schedule(settings), place, alpha, link.beta.si(), m);
      const double alone = one->cost({link, link}, settings, Bytes(m)).si();
      least = std::min(least, flows);
      if (one->outflow == collective::Outflow::one) {
        EXPECT_NEAR(flows, alone, 1e-5 * alone) << one->name;
      } else {
        EXPECT_GT(flows, 1.5 * alone) << one->name;
        EXPECT_LT(flows, 4 * alone) << one->name;
      }
    }
    EXPECT_NEAR(said, least, 1e-5 * least) << to_string(each);
  }
}

TEST_F(Collectives, CostNothingOnOneRank) {
  EXPECT_EQ(seconds(Collective::reduce, 1, 1e6), 0);
  EXPECT_TRUE(notes_.all().empty()) << all(notes_.all());
}

TEST_F(Collectives, AreThoseThatTrainingUses) {
  EXPECT_THROW(times(Collective::all_to_all, 2), std::logic_error);
}

}  // namespace
}  // namespace dlscale::model
