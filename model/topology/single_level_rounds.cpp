#include "model/topology/single_level_rounds.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/collective/double_tree.hpp"
#include "core/collective/powers.hpp"
#include "core/collective/schedule.hpp"

namespace dlscale::model {
namespace {

using collective::Collective;
using collective::Link;
using collective::Links;

constexpr std::string_view chain_name = "chain";
constexpr std::string_view trees_name = "double_binary_tree";

bool is_ring(std::string_view name) {
  return name == "ring" || name == "segmented_ring";
}

Seconds time_over(const Link& link, Bytes sent, Bytes added) {
  return link.alpha + sent * link.beta + added * link.gamma;
}

constexpr Rank nobody = -1;

}  // namespace

SingleLevelRounds::SingleLevelRounds(const collective::Algorithm& algorithm,
                                     const Placement& placement)
    : algorithm_(&algorithm), placement_(placement) {
  EXPECT(placement.nodes() > 1);
  EXPECT(!algorithm.traits.two_levels && !algorithm.traits.servers && !algorithm.traits.switches);
  if (is_ring(algorithm.name) || algorithm.name == chain_name) return;
  const bool reduces = algorithm.collective == Collective::reduce;
  const bool broadcasts = algorithm.collective == Collective::broadcast;
  const bool both = algorithm.collective == Collective::all_reduce;
  if (algorithm.name == "binomial" && (both || reduces || broadcasts)) {
    count_tree(both || reduces, both || broadcasts);
  } else if (both && algorithm.name == "recursive_doubling") {
    count_exchanges(false);
  } else if (both && algorithm.name == "rabenseifner") {
    count_exchanges(true);
  } else if (algorithm.name == trees_name) {
    count_sharers_of_trees();
  } else if (algorithm.name == "pairwise" || algorithm.name == "bruck") {
    count_shifts();
  } else {
    count(algorithm.schedule({.p = placement.ranks}));
  }
}

bool SingleLevelRounds::has_neighbours() const {
  return placement_.ranks_on_node() > 1;
}

void SingleLevelRounds::count(const collective::Schedule& schedule) {
  EXPECT(schedule.helpers == 0 && schedule.rank_ports == 1);
  struct Slots {
    int sent = 0;
    int added = 0;
  };
  struct Way {
    int slots = 0;
    int messages = 0;
  };
  std::map<std::vector<Message>, int> counts;
  for (const collective::Round& round : schedule.rounds) {
    std::map<std::pair<Rank, Rank>, Slots> messages;
    for (const collective::Transfer& one : round) {
      if (one.from == one.to) continue;
      Slots& slots = messages[{one.from, one.to}];
      slots.sent += one.count;
      if (one.action == collective::Transfer::Action::add) slots.added += one.count;
    }
    std::map<int, Way> out;
    std::map<int, Way> in;
    for (const auto& [ends, slots] : messages) {
      const int from = placement_.node(ends.first);
      const int to = placement_.node(ends.second);
      if (from == to) continue;
      for (Way* way : {&out[from], &in[to]}) {
        way->slots += slots.sent;
        sharers_ = std::max(sharers_, ++way->messages);
      }
    }
    std::set<Message> different;
    const double chunks = schedule.chunks;
    for (const auto& [ends, slots] : messages) {
      const int from = placement_.node(ends.first);
      const int to = placement_.node(ends.second);
      const int sent = from == to ? slots.sent : std::max(out[from].slots, in[to].slots);
      different.insert({from != to, sent / chunks, slots.added / chunks});
    }
    ++counts[{different.begin(), different.end()}];
  }
  for (const auto& [messages, count] : counts) rounds_.push_back({messages, count});
}

/// Analyses a round from a few nodes. A rank's role depends on its number modulo 4 `distance` below
/// 2 `folded`, and modulo 2 `distance` above, except near either end. So that many nodes represent
/// all. Where partners are at least as far apart as a node has ranks, it only matters which ranks
/// have one: every second rank below, every rank above. `to` and `from` return the partner of a
/// rank, if any.
template <class To, class From>
SingleLevelRounds::Alike SingleLevelRounds::alike(int distance, int folded, To to,
                                                  From from) const {
  const int on_node = placement_.ranks_per_node;
  const int nodes = placement_.nodes();
  Alike found;
  const auto see = [&](int node) {
    int leave = 0;
    int enter = 0;
    const int end = std::min(placement_.ranks, (node + 1) * on_node);
    for (Rank rank = node * on_node; rank < end; ++rank) {
      const Rank receiver = to(rank);
      const Rank sender = from(rank);
      if (receiver != nobody && placement_.node(receiver) == node) {
        found.inside = true;
      } else if (receiver != nobody) {
        ++leave;
      }
      if (sender != nobody && placement_.node(sender) != node) ++enter;
    }
    found.sharers = std::max({found.sharers, leave, enter});
  };
  constexpr int margin = 6;  // nodes with partners beyond an end, and a reserve
  const int different = distance < on_node ? 4 * distance : 2;
  const auto see_near = [&](int node) {
    const int end = std::min(nodes, node + margin + different);
    for (int one = std::max(0, node - margin); one < end; ++one) see(one);
  };
  see_near(0);
  if (folded > 0) see_near(placement_.node(2 * folded));
  see_near(nodes - 1);
  return found;
}

void SingleLevelRounds::add(const Alike& round, double sent, double added) {
  Rounds rounds;
  rounds.count = 1;
  if (round.inside) rounds.messages.push_back({false, sent, added});
  if (round.sharers > 0) rounds.messages.push_back({true, round.sharers * sent, added});
  sharers_ = std::max(sharers_, round.sharers);
  const auto same = std::ranges::find(rounds_, rounds.messages, &Rounds::messages);
  if (same == rounds_.end()) {
    rounds_.push_back(std::move(rounds));
  } else {
    ++same->count;
  }
}

/// Counts the rounds of a PowerOfTwoGroup. Ranks that differ in one bit exchange the whole message,
/// or halves that shrink each round, which are added and then returned.
void SingleLevelRounds::count_exchanges(bool halves) {
  const collective::PowerOfTwoGroup group(placement_.ranks);
  const int folded = group.folded();
  const auto even_of_pair = [&](Rank rank) { return rank < 2 * folded && rank % 2 == 0; };
  const auto odd_of_pair = [&](Rank rank) { return rank < 2 * folded && rank % 2 == 1; };
  const auto up = [&](Rank rank) { return even_of_pair(rank) ? rank + 1 : nobody; };
  const auto down = [&](Rank rank) { return odd_of_pair(rank) ? rank - 1 : nobody; };
  if (folded > 0) {
    add(alike(1, folded, up, down), 1, 1);
    add(alike(1, folded, down, up), 1, 0);
  }
  for (int distance = 1; distance < group.size(); distance *= 2) {
    const auto partner = [&](Rank rank) {
      if (even_of_pair(rank)) return nobody;
      const int member = odd_of_pair(rank) ? rank / 2 : rank - folded;
      return group.rank(member ^ distance);
    };
    const Alike round = alike(distance, folded, partner, partner);
    const double part = halves ? static_cast<double>(distance) / group.size() : 1;
    add(round, part, part);
    if (halves) add(round, part, 0);
  }
}

/// Counts the edges of a binomial tree, up with addition, and down again.
void SingleLevelRounds::count_tree(bool reduces, bool broadcasts) {
  const int p = placement_.ranks;
  for (int distance = 1; distance < p; distance *= 2) {
    const auto child = [&](Rank rank) {
      return rank % (2 * distance) == 0 && rank + distance < p ? rank + distance : nobody;
    };
    const auto parent = [&](Rank rank) {
      return rank % (2 * distance) == distance ? rank - distance : nobody;
    };
    const Alike round = alike(distance, 0, child, parent);
    if (reduces) add(round, 1, 1);
    if (broadcasts) add(round, 1, 0);
  }
}

/// Counts rounds in which every rank sends as much to the rank d to its right, or to its left. From
/// a node of k ranks k - max(0, k - d) - max(0, k - (p - d)) messages leave, and as many enter.
void SingleLevelRounds::count_shifts() {
  const int p = placement_.ranks;
  const bool adds = algorithm_->collective == Collective::reduce_scatter;
  const auto add_shift = [&](int distance, int blocks) {
    Alike round;
    for (const int on_node : {placement_.ranks_per_node, placement_.ranks_on_last()}) {
      const int stay = std::max(0, on_node - distance) + std::max(0, on_node - (p - distance));
      round.sharers = std::max(round.sharers, on_node - stay);
      round.inside |= stay > 0;
    }
    const double sent = static_cast<double>(blocks) / p;
    add(round, sent, adds ? sent : 0);
  };
  if (algorithm_->name == "pairwise") {
    for (int distance = 1; distance < p; ++distance) add_shift(distance, 1);
    return;
  }
  for (int distance = 1; distance < p; distance *= 2) {
    if (algorithm_->collective == Collective::all_gather) {
      add_shift(distance, std::min(distance, p - distance));
      continue;
    }
    int blocks = 0;  // whose number of ranks to go has that bit
    for (int one = 1; one < p; ++one) blocks += (one & distance) != 0 ? 1 : 0;
    add_shift(distance, blocks);
  }
}

/// Counts sharers with enough segments that all levels of both trees are busy at once, in rounds of
/// one parity.
void SingleLevelRounds::count_sharers_of_trees() {
  const auto nodes = static_cast<std::size_t>(placement_.nodes());
  std::vector<std::array<int, 2>> leave(nodes);
  std::vector<std::array<int, 2>> enter(nodes);
  for (const collective::TreeEdge& edge : collective::double_tree_edges(placement_.ranks)) {
    const int from = placement_.node(edge.parent);
    const int to = placement_.node(edge.child);
    if (from == to) continue;
    sharers_ = std::max({sharers_, ++leave[from][edge.parity], ++enter[to][edge.parity]});
  }
}

/// k (p - 1) rounds reduce a segment of a block, and p - 1 forward whole blocks; a reduce-scatter
/// and an all-gather have only these or those. In each, one message leaves every node and one
/// enters.
Seconds SingleLevelRounds::ring(const Links& links, int segments, Bytes m) const {
  const double rounds = placement_.ranks - 1;
  const auto slower = [&](Bytes sent, Bytes added) {
    const Seconds outside = time_over(links.inter, sent, added);
    return has_neighbours() ? std::max(outside, time_over(links.intra, sent, added)) : outside;
  };
  const Bytes block = m / placement_.ranks;
  const Bytes piece = block / segments;
  Seconds total;
  if (algorithm_->collective != Collective::all_gather) {
    total += rounds * segments * slower(piece, piece);
  }
  if (algorithm_->collective != Collective::reduce_scatter) total += rounds * slower(block, {});
  return total;
}

/// Each edge carries one segment at a time, and a round is as long as its slowest busy edge. Edge i
/// is busy in rounds i … i + segments - 1. So edges at distance d are busy in min(segments, d)
/// rounds more than one of them. Edges between nodes are g apart; those within them 1, or 2 across
/// an edge between nodes.
Seconds SingleLevelRounds::chain(const Links& links, int segments, Bytes m) const {
  const int across = placement_.nodes() - 1;
  const int inside = placement_.ranks - 1 - across;
  const int with_inside = placement_.nodes() - (placement_.ranks_on_last() == 1 ? 1 : 0);
  const int rounds_across = (across - 1) * std::min(segments, placement_.ranks_per_node) + segments;
  const int rounds_inside =
      inside - with_inside + (with_inside - 1) * std::min(segments, 2) + segments;
  const Bytes piece = m / segments;
  const Bytes added = algorithm_->collective == Collective::broadcast ? Bytes() : piece;
  Seconds slow = time_over(links.inter, piece, added);
  Seconds quick = inside == 0 ? slow : time_over(links.intra, piece, added);
  int slow_rounds = rounds_across;
  if (quick > slow) {
    std::swap(slow, quick);
    slow_rounds = rounds_inside;
  }
  const int all = placement_.ranks - 2 + segments;
  return slow_rounds * slow + (all - slow_rounds) * quick;
}

Seconds SingleLevelRounds::time(const Links& links, int segments, Bytes m) const {
  EXPECT(segments == 1 || algorithm_->traits.segments);
  if (is_ring(algorithm_->name)) return ring(links, segments, m);
  if (algorithm_->name == chain_name) return chain(links, segments, m);
  if (algorithm_->name == trees_name) {
    Link slowest = links.inter;
    slowest.beta = sharers_ * slowest.beta;
    if (has_neighbours()) {
      slowest.alpha = std::max(slowest.alpha, links.intra.alpha);
      slowest.beta = std::max(slowest.beta, links.intra.beta);
    }
    return algorithm_->cost({slowest, slowest}, {.p = placement_.ranks, .segments = segments}, m);
  }
  Seconds total;
  for (const Rounds& rounds : rounds_) {
    Seconds slowest;
    for (const Message& one : rounds.messages) {
      const Link& link = one.leaves ? links.inter : links.intra;
      slowest = std::max(slowest, time_over(link, one.sent * m, one.added * m));
    }
    total += rounds.count * slowest;
  }
  return total;
}

}  // namespace dlscale::model
