#include "model/topology/single_level_rounds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/ids.hpp"
#include "core/collective/powers.hpp"
#include "core/collective/schedule.hpp"
#include "model/sgd_iter/cluster/max_min_fair_links.hpp"

namespace dlscale::model {
namespace {

using collective::Algorithm;
using collective::Collective;
using collective::Link;
using collective::Links;

constexpr Bytes message(9.6e6);

/// Rounds one after another, each as long as its slowest message. Those that leave a node share its
/// way out, and the way into the other, fairly, by simulation of flows; a rank has a link of its
/// own within its node. Latency comes on top.
double simulated(const collective::Schedule& schedule, const Placement& place, const Links& links) {
  double total = 0;
  for (const collective::Round& round : schedule.rounds) {
    std::map<std::pair<Rank, Rank>, int> messages;
    for (const collective::Transfer& one : round) {
      if (one.from != one.to) messages[{one.from, one.to}] += one.count;
    }
    MaxMinFairLinks ways;
    std::vector<LinkId> out;
    std::vector<LinkId> in;
    for (int node = 0; node < place.nodes(); ++node) {
      out.push_back(ways.add(1 / links.inter.beta));
      in.push_back(ways.add(1 / links.inter.beta));
    }
    double slowest = 0;
    std::uint32_t flows = 0;
    for (const auto& [ends, slots] : messages) {
      const auto from = static_cast<std::size_t>(place.node(ends.first));
      const auto to = static_cast<std::size_t>(place.node(ends.second));
      const Bytes size = slots * message / schedule.chunks;
      if (from == to) {
        slowest = std::max(slowest, (links.intra.alpha + size * links.intra.beta).si());
      } else {
        const std::vector<LinkId> path{out.at(from), in.at(to)};
        ways.begin(flows++, size, path, Seconds());
      }
    }
    for (; flows > 0; --flows) {
      slowest = std::max(slowest, (links.inter.alpha + ways.next()).si());
      ways.end();
    }
    total += slowest;
  }
  return total;
}

std::vector<const Algorithm*> flat_algorithms() {
  std::vector<const Algorithm*> flat;
  for (const Collective collective : {Collective::all_reduce, Collective::all_gather,
                                      Collective::reduce_scatter, Collective::all_to_all}) {
    for (const Algorithm* one : collective::algorithms_of(collective)) {
      const collective::Traits& reads = one->traits;
      if (!reads.two_levels && !reads.servers && !reads.switches) flat.push_back(one);
    }
  }
  flat.push_back(collective::find(Collective::reduce, "chain"));
  flat.push_back(collective::find(Collective::broadcast, "chain"));
  return flat;
}

/// Slower between nodes; slower to start within them; slower within them.
const Links all_links[] = {
    {{Seconds(14e-6), SecondsPerByte(1.5e-10), {}}, {Seconds(5e-6), SecondsPerByte(6e-11), {}}},
    {{Seconds(4e-6), SecondsPerByte(1e-9), {}}, {Seconds(2e-4), SecondsPerByte(1e-10), {}}},
    {{Seconds(2e-6), SecondsPerByte(4e-11), {}}, {Seconds(9e-6), SecondsPerByte(2e-10), {}}}};

/// Nodes of one rank, full ones, and a last one that is filled in part.
const Placement placements[] = {{2, 1}, {5, 1}, {4, 2}, {16, 4}, {5, 4}, {7, 4}, {12, 4}, {24, 8}};

TEST(SingleLevelRounds, TakeWhatFlowsThatShareTheWaysOutOfNodesTake) {
  for (const Algorithm* one : flat_algorithms()) {
    for (const Placement& place : placements) {
      const SingleLevelRounds rounds(*one, place);
      for (const int segments : {1, 2, 3, 12}) {
        if (segments > 1 && !one->traits.segments) continue;
        for (const Links& links : all_links) {
          const double flows =
              simulated(one->schedule({.p = place.ranks, .segments = segments}), place, links);
          const double said = rounds.time(links, segments, message).si();
          const std::string what = std::string(one->name) + " on " + std::to_string(place.ranks) +
                                   " ranks, " + std::to_string(place.ranks_per_node) +
                                   " on a node, segments: " + std::to_string(segments);
          if (one->inexact.empty()) {
            EXPECT_NEAR(said, flows, 1e-9 * flows) << what;
          } else {
            EXPECT_GE(said, flows * (1 - 1e-9)) << what;
          }
        }
      }
    }
  }
}

/// The counts of SingleLevelRounds, here by a list of every message of every round. Rounds follow
/// one another, and each is as long as its slowest message; also the most that share a link.
struct Listed {
  double time = 0;
  int sharers = 1;
};

Listed listed(const collective::Schedule& schedule, const Placement& place, const Links& links) {
  Listed result;
  for (const collective::Round& round : schedule.rounds) {
    std::map<int, int> out;
    std::map<int, int> in;
    for (const collective::Transfer& one : round) {
      const int from = place.node(one.from);
      const int to = place.node(one.to);
      if (from == to) continue;
      result.sharers = std::max({result.sharers, ++out[from], ++in[to]});
    }
    double slowest = 0;
    for (const collective::Transfer& one : round) {
      const int from = place.node(one.from);
      const int to = place.node(one.to);
      const Bytes size = one.count * message / schedule.chunks;
      const bool adds = one.action == collective::Transfer::Action::add;
      const double sharers = from == to ? 1 : std::max(out[from], in[to]);
      const Link& link = from == to ? links.intra : links.inter;
      const Seconds took =
          link.alpha + sharers * (size * link.beta) + (adds ? size : Bytes()) * link.gamma;
      slowest = std::max(slowest, took.si());
    }
    result.time += slowest;
  }
  return result;
}

TEST(SingleLevelRounds, AreCountedAsIfAllTheirMessagesWereListed) {
  Links links = all_links[0];
  links.inter.gamma = links.intra.gamma = SecondsPerByte(3e-11);
  const std::pair<Collective, const char*> counted[] = {
      {Collective::all_reduce, "recursive_doubling"},
      {Collective::all_reduce, "rabenseifner"},
      {Collective::all_reduce, "binomial"},
      {Collective::reduce, "binomial"},
      {Collective::broadcast, "binomial"},
      {Collective::all_reduce, "double_binary_tree"}};
  std::vector<Placement> many{{600, 6}, {257, 8}, {300, 17}};
  for (int ranks = 3; ranks <= 37; ++ranks) {
    for (const int on_node : {1, 2, 3, 4, 6, 8, 16}) {
      if (on_node < ranks) many.push_back({ranks, on_node});
    }
  }
  for (const auto& [collective, name] : counted) {
    const Algorithm& one = *collective::find(collective, name);
    for (const Placement& place : many) {
      const bool trees = !one.inexact.empty();
      if (trees && place.ranks > 37) continue;  // segments in each of many rounds: long lists
      collective::Settings settings{.p = place.ranks};
      if (trees) settings.segments = collective::ceiling_log2(place.ranks) + 1;
      const Listed all = listed(one.schedule(settings), place, links);
      const SingleLevelRounds rounds(one, place);
      const std::string what = std::string(name) + " on " + std::to_string(place.ranks) + " by " +
                               std::to_string(place.ranks_per_node);
      ASSERT_EQ(rounds.sharers(), all.sharers) << what;
      if (trees) continue;
      ASSERT_NEAR(rounds.time(links, 1, message).si(), all.time, 1e-9 * all.time) << what;
    }
  }
}

TEST(SingleLevelRounds, OfChainsAreCountedAsIfEachEdgeWasLookedAt) {
  const Links links = all_links[2];  // slower within nodes
  for (const char* name : {"reduce", "broadcast"}) {
    const Collective what = name[0] == 'r' ? Collective::reduce : Collective::broadcast;
    const Algorithm& chain = *collective::find(what, "chain");
    for (const Placement& place :
         {Placement{2, 1}, {9, 4}, {10, 4}, {12, 4}, {13, 4}, {7, 6}, {14, 1}, {21, 2}, {31, 30}}) {
      for (const int segments : {1, 2, 3, 4, 5, 40}) {
        for (const Links& each : {links, all_links[0]}) {
          const Listed all =
              listed(chain.schedule({.p = place.ranks, .segments = segments}), place, each);
          const double said = SingleLevelRounds(chain, place).time(each, segments, message).si();
          EXPECT_NEAR(said, all.time, 1e-9 * all.time)
              << name << place.ranks << ' ' << place.ranks_per_node << ' ' << segments;
        }
      }
    }
  }
}

TEST(SingleLevelRounds, AddWhatIsReceivedToBeAdded) {
  // Halves, then quarters are added on twice two ranks; nobody adds on the way back.
  const SecondsPerByte gamma(1e-9);
  Links links = all_links[0];
  const Algorithm* halving = collective::find(Collective::all_reduce, "rabenseifner");
  const SingleLevelRounds rounds(*halving, {4, 2});
  const double before = rounds.time(links, 1, message).si();
  links.inter.gamma = links.intra.gamma = gamma;
  EXPECT_NEAR(rounds.time(links, 1, message).si() - before, (0.75 * message * gamma).si(), 1e-12);
}

TEST(SingleLevelRounds, OfRingsAndChainsAreNotListedHoweverManyTheyAre) {
  const Placement many{27648, 6};
  const Links links = all_links[0];
  const SingleLevelRounds ring(*collective::find(Collective::all_reduce, "ring"), many);
  const Bytes block = message / many.ranks;
  const Seconds round = links.inter.alpha + block * links.inter.beta;
  EXPECT_NEAR(ring.time(links, 1, message).si(), 2.0 * (many.ranks - 1) * round.si(), 1e-9);
  EXPECT_EQ(ring.sharers(), 1);
}

}  // namespace
}  // namespace dlscale::model
