/// Schedules of every algorithm: the right result, by messages that ports allow.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/collective/algorithm.hpp"
#include "core/collective/double_tree.hpp"
#include "core/collective/powers.hpp"
#include "core/collective/selection/selection.hpp"
#include "tests/core/collective/executor.hpp"

namespace dlscale::collective {
namespace {

using test::settings_of;
using test::text;

class EveryAlgorithm : public testing::TestWithParam<const Algorithm*> {};

TEST_P(EveryAlgorithm, LeavesTheRightResult) {
  for (int p = 1; p <= 17; ++p) {
    for (const Settings& settings : settings_of(*GetParam(), p)) {
      SCOPED_TRACE(text(settings));
      const Schedule schedule = GetParam()->schedule(settings);
      EXPECT_EQ(schedule.ranks, p);
      test::expect_right_result(GetParam()->collective, schedule, settings);
      if (HasFailure()) return;
    }
  }
}

using Messages = std::set<std::pair<Rank, Rank>>;

/// The messages of a round, as pairs of sender and receiver.
Messages messages_of(const Round& round) {
  Messages messages;
  for (const Transfer& t : round) {
    if (t.from != t.to) messages.emplace(t.from, t.to);
  }
  return messages;
}

TEST_P(EveryAlgorithm, StaysWithinBuffersAndPorts) {
  for (int p = 1; p <= 17; ++p) {
    for (const Settings& settings : settings_of(*GetParam(), p)) {
      SCOPED_TRACE(text(settings));
      const Schedule schedule = GetParam()->schedule(settings);
      const int slots = schedule.chunks + schedule.scratch;
      EXPECT_TRUE(schedule.result >= 0 && schedule.result + schedule.chunks <= slots);
      for (const Round& round : schedule.rounds) {
        EXPECT_FALSE(round.empty());
        for (const Transfer& t : round) {
          EXPECT_TRUE(std::min(t.from, t.to) >= 0);
          EXPECT_TRUE(std::max(t.from, t.to) < test::nodes(schedule));
          EXPECT_TRUE(t.count >= 1 && std::min(t.first, t.first + t.shift) >= 0);
          EXPECT_TRUE(std::max(t.first, t.first + t.shift) + t.count <= slots);
        }
        std::map<Rank, int> sent;
        std::map<Rank, int> received;
        for (const auto& [from, to] : messages_of(round)) {
          const auto ports = [&](Rank node) {
            return node < p ? schedule.rank_ports : schedule.helper_ports;
          };
          EXPECT_LE(++sent[from], ports(from));
          EXPECT_LE(++received[to], ports(to));
        }
      }
      if (HasFailure()) return;
    }
  }
}

/// The messages that ranks send in each round.
std::vector<Messages> sent_by_ranks(const Schedule& schedule) {
  std::vector<Messages> rounds;
  for (const Round& round : schedule.rounds) {
    rounds.push_back(messages_of(round));
    std::erase_if(rounds.back(),
                  [&](const auto& message) { return message.first >= schedule.ranks; });
  }
  return rounds;
}

/// The most of them that leave one node of so many ranks in a round.
int most_flows_from_a_node(const std::vector<Messages>& rounds, int ranks, int ranks_on_node) {
  int most = 0;
  for (const Messages& round : rounds) {
    std::vector<int> leaving(ranks / ranks_on_node + 1);  // by node
    for (const auto& [from, to] : round) {
      const int node = from / ranks_on_node;
      const bool leaves = to >= ranks || to / ranks_on_node != node;
      if (leaves) most = std::max(most, ++leaving[node]);
    }
  }
  return most;
}

TEST_P(EveryAlgorithm, LetsNoMoreMessagesLeaveANodeThanItSays) {
  const Algorithm& algorithm = *GetParam();
  for (int p = 2; p <= 20; ++p) {
    for (const Settings& settings : settings_of(algorithm, p)) {
      const auto rounds = sent_by_ranks(algorithm.schedule(settings));
      for (int on_node = 1; on_node < p; ++on_node) {
        if (algorithm.traits.two_levels && on_node != settings.ranks_on_node) continue;
        EXPECT_LE(most_flows_from_a_node(rounds, p, on_node), flows(algorithm.outflow, on_node))
            << text(settings) << ", nodes of " << on_node;
      }
    }
  }
  // Trees that do not fill a node of 4.
  if (!algorithm.inexact.empty() || algorithm.name == "binary_tree") return;
  const Settings settings{.p = 16, .ranks_on_node = 4, .segments = 4, .servers = 4};
  const auto rounds = sent_by_ranks(algorithm.schedule(settings));
  EXPECT_EQ(most_flows_from_a_node(rounds, 16, 4), flows(algorithm.outflow, 4));
}

TEST_P(EveryAlgorithm, RefusesWhatItNamesAsAnObstacle) {
  const Algorithm& algorithm = *GetParam();
  const auto refuses = [&](const Settings& settings) {
    return !obstacle(algorithm, settings).empty();
  };
  EXPECT_FALSE(refuses({.p = 12, .ranks_on_node = 4}));
  EXPECT_TRUE(refuses({.p = 0}));
  EXPECT_TRUE(refuses({.p = 4, .root = 4}));
  EXPECT_TRUE(refuses({.p = 4, .root = -1}));
  EXPECT_EQ(refuses({.p = 12, .ranks_on_node = 5}), algorithm.traits.two_levels);
  EXPECT_EQ(refuses({.p = 12, .segments = 0}), algorithm.traits.segments);
  EXPECT_EQ(refuses({.p = 12, .servers = 0}), algorithm.traits.servers);
  EXPECT_EQ(refuses({.p = 12, .down_links = 1}), algorithm.traits.switches);
  EXPECT_THROW(static_cast<void>(algorithm.schedule({.p = 0})), std::logic_error);
}

INSTANTIATE_TEST_SUITE_P(Family, EveryAlgorithm,
                         testing::ValuesIn(family<Algorithm>().members.begin(),
                                           family<Algorithm>().members.end()),
                         test::name_of);

TEST(Algorithms, AreFoundByCollectiveAndName) {
  std::size_t count = 0;
  for (const Collective collective : collectives) {
    EXPECT_FALSE(algorithms_of(collective).empty()) << to_string(collective);
    for (const Algorithm* algorithm : algorithms_of(collective)) {
      EXPECT_EQ(find(collective, algorithm->name), algorithm);
      ++count;
    }
  }
  EXPECT_EQ(count, family<Algorithm>().members.size());
  EXPECT_EQ(find(Collective::all_to_all, "rabenseifner"), nullptr);
}

TEST(Schedules, OfDoubleTreesGiveEachRankChildrenInOneTree) {
  for (int p = 2; p <= 33; ++p) {
    const Schedule schedule =
        find(Collective::all_reduce, "double_binary_tree")->schedule({.p = p});
    std::map<Rank, std::set<int>> trees_with_children;
    for (const Round& round : schedule.rounds) {
      for (const Transfer& t : round) {
        if (t.action == Transfer::Action::copy) trees_with_children[t.from].insert(t.first);
      }
    }
    for (const auto& [rank, trees] : trees_with_children) {
      EXPECT_TRUE(trees.size() == 1 || (rank == 0 && p % 2 == 1)) << rank << " of " << p;
    }
  }
}

TEST(Schedules, OfDoubleTreesAreSetUpForAnyNumberOfRanks) {
  for (const int p : {1, 2, 3, 4, 17, 1000, 65536, 20'001}) {
    const std::vector<TreeEdge> edges = double_tree_edges(p);
    EXPECT_EQ(edges.size(), 2 * static_cast<std::size_t>(p - 1));
    std::set<std::pair<Rank, int>> leaving;
    std::set<std::pair<Rank, int>> entering;
    for (const TreeEdge& edge : edges) {
      ASSERT_TRUE(edge.parity == 0 || edge.parity == 1);
      ASSERT_TRUE(leaving.insert({edge.parent, edge.parity}).second) << edge.parent << " of " << p;
      ASSERT_TRUE(entering.insert({edge.child, edge.parity}).second) << edge.child << " of " << p;
    }
  }
}

TEST(Schedules, OfSegmentedRingsHaveTheStepsOfOpenMpis) {
  const Algorithm* ring = find(Collective::all_reduce, "segmented_ring");
  EXPECT_EQ(ring->schedule({.p = 5, .segments = 3}).rounds.size(), 4U * 4U);
}

constexpr Bytes element(4);
const Link broadcast_link{Seconds(10e-6), SecondsPerByte(1e-10), SecondsPerByte()};

Seconds chain(const Link& link, int p, int segments, Bytes m) {
  return find(Collective::broadcast, "chain")
      ->cost({link, link}, {.p = p, .segments = segments}, m);
}

TEST(OptimalSegments, AreTheFastestOfAllWholeNumbers) {
  for (const int p : {3, 4, 8, 17}) {
    for (const double bytes : {4.0, 64.0, 1e5, 1e7}) {
      const Bytes m(bytes);
      const int best = optimal_segments(broadcast_link, p, m, element);
      const Seconds time = chain(broadcast_link, p, best, m);
      EXPECT_GE(time, optimal_chain_time(broadcast_link, p, m) * (1 - 1e-12));
      const int most = std::min(1000, static_cast<int>(m / element));
      EXPECT_GE(best, 1);
      EXPECT_LE(best, most);
      for (int k = 1; k <= most; ++k) {
        EXPECT_LE(time.si(), chain(broadcast_link, p, k, m).si() * (1 + 1e-12))
            << p << " ranks, " << bytes << " bytes, " << k << " segments";
      }
    }
  }
}

TEST(OptimalSegments, CountReductionAsPartOfTheWire) {
  const Link reduce_link{Seconds(10e-6), SecondsPerByte(1e-10), SecondsPerByte(3e-10)};
  const Link as_much{Seconds(10e-6), SecondsPerByte(4e-10), SecondsPerByte()};
  EXPECT_EQ(optimal_segments(reduce_link, 9, Bytes(1e7), element),
            optimal_segments(as_much, 9, Bytes(1e7), element));
}

TEST(OptimalSegments, AreAsFewOrAsManyAsThereCanBe) {
  const Bytes m(4000);
  EXPECT_EQ(optimal_segments(broadcast_link, 1, m, element), 1);
  EXPECT_EQ(optimal_segments(broadcast_link, 2, m, element), 1);
  const Link no_start_up{Seconds(), SecondsPerByte(1e-10), SecondsPerByte()};
  EXPECT_EQ(optimal_segments(no_start_up, 8, m, element), 1000);
  const Link nothing_but_start_up{Seconds(1e-6), SecondsPerByte(), SecondsPerByte()};
  EXPECT_EQ(optimal_segments(nothing_but_start_up, 8, m, element), 1);
  EXPECT_THROW(static_cast<void>(optimal_segments(broadcast_link, 8, Bytes(2), element)),
               std::logic_error);
}

TEST(Logarithms, RoundDownAndUp) {
  EXPECT_EQ(floor_log2(1), 0);
  EXPECT_EQ(ceiling_log2(1), 0);
  EXPECT_EQ(floor_log2(12), 3);
  EXPECT_EQ(ceiling_log2(12), 4);
  EXPECT_EQ(ceiling_log2(16), 4);
  EXPECT_EQ(largest_power_of_2(17), 16);
  EXPECT_THROW(floor_log2(0), std::logic_error);
}

}  // namespace
}  // namespace dlscale::collective
