#include "model/topology/flat_rounds.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/collective/powers.hpp"
#include "core/collective/schedule.hpp"
#include "core/error.hpp"

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

/// In how many rounds one of these edges of a chain carries a segment: edge i does so in rounds
/// i … i + segments - 1. Ascending.
int rounds_of(const std::vector<int>& edges, int segments) {
  int rounds = 0;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const bool last = i + 1 == edges.size();
    rounds += last ? segments : std::min(segments, edges[i + 1] - edges[i]);
  }
  return rounds;
}

}  // namespace

FlatRounds::FlatRounds(const collective::Algorithm& algorithm, const Placement& placement)
    : algorithm_(&algorithm), placement_(placement) {
  EXPECT(placement.nodes() > 1);
  EXPECT(!algorithm.traits.two_levels && !algorithm.traits.servers && !algorithm.traits.switches);
  if (is_ring(algorithm.name) || algorithm.name == chain_name) return;
  collective::Settings settings{.p = placement.ranks};
  // Enough segments that all levels of a tree are busy at once.
  if (algorithm.name == trees_name) settings.segments = collective::ceiling_log2(settings.p) + 1;
  count(algorithm.schedule(settings));
}

bool FlatRounds::has_neighbours() const {
  return placement_.ranks_on_node() > 1;
}

void FlatRounds::count(const collective::Schedule& schedule) {
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

/// k (p - 1) rounds that reduce a segment of a block, p - 1 that pass whole blocks on; all nodes
/// are left and entered by one message in each.
Seconds FlatRounds::ring(const Links& links, int segments, Bytes m) const {
  const double rounds = placement_.ranks - 1;
  const auto slower = [&](Bytes sent, Bytes added) {
    const Seconds outside = time_over(links.inter, sent, added);
    return has_neighbours() ? std::max(outside, time_over(links.intra, sent, added)) : outside;
  };
  const Bytes block = m / placement_.ranks;
  const Bytes piece = block / segments;
  return rounds * (segments * slower(piece, piece) + slower(block, {}));
}

/// One segment is at an edge at a time; edges are as long as the slowest that is busy.
Seconds FlatRounds::chain(const Links& links, int segments, Bytes m) const {
  std::vector<int> inside;
  std::vector<int> across;
  for (Rank rank = 0; rank + 1 < placement_.ranks; ++rank) {
    (placement_.node(rank) == placement_.node(rank + 1) ? inside : across).push_back(rank);
  }
  const Bytes piece = m / segments;
  const Bytes added = algorithm_->collective == Collective::broadcast ? Bytes() : piece;
  Seconds slow = time_over(links.inter, piece, added);
  Seconds quick = inside.empty() ? slow : time_over(links.intra, piece, added);
  int slow_rounds = rounds_of(across, segments);
  if (quick > slow) {
    std::swap(slow, quick);
    slow_rounds = rounds_of(inside, segments);
  }
  const int all = placement_.ranks - 2 + segments;
  return slow_rounds * slow + (all - slow_rounds) * quick;
}

Seconds FlatRounds::time(const Links& links, int segments, Bytes m) const {
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
