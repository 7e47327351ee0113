#pragma once
#include <vector>

#include "core/base/ids.hpp"
#include "core/collective/algorithm.hpp"
#include "core/collective/schedule.hpp"

namespace dlscale::collective {

/// Building blocks of schedules, with the counts that closed forms need. Each is written for a
/// group, whose members are numbered 0, 1, … in its order. The root, if any, is member 0.
using Group = std::vector<Rank>;

/// All p ranks: first, first + 1, …, wrapping around to first - 1.
Group everyone(int p, Rank first = 0);

/// Sequential and concurrent (round by round) composition.
Rounds in_turn(Rounds first, const Rounds& second);
Rounds at_once(Rounds one, const Rounds& other);

/// The rounds in opposite order and direction. If each member receives each slot at most once, a
/// reversed broadcast that adds is a reduce to its root, and a reversed all-gather is a
/// reduce-scatter. When copying, a scatter becomes a gather.
Rounds backwards(const Rounds& rounds, Transfer::Action action = Transfer::Action::add);

/// Broadcast of all slots from member 0 along a binomial tree, in ⌈lg n⌉ rounds.
Rounds binomial_broadcast(const Group& group, Slots slots);

/// Scatter of slots 0 … n - 1, one for each member, along a binomial tree in ⌈lg n⌉ rounds. Member
/// 0 sends n - 1 slots in total; no member sends more than it in any round.
Rounds binomial_scatter(const Group& group);

/// Broadcast of slots from member 0 along a chain, slot by slot.
Rounds chain_broadcast(const Group& group, Slots slots);
/// Number of rounds of chain_broadcast(): n - 2 + slots, or none for one member.
int chain_rounds(int members, int slots);

/// The blocks of an all-gather: that of member i is slots [first + i · stride, … + count).
struct Blocks {
  int first = 0;
  int stride = 1;
  int count = 1;
};

/// All-gather around a ring: n - 1 rounds of one block.
Rounds ring_all_gather(const Group& group, Blocks blocks);

/// All-gather of one slot per member by recursive doubling. If the number of members is not a power
/// of 2, members pair up as in PowerOfTwoGroup: before, one gives its slot to the other; afterwards
/// it gets all others.
Rounds doubling_all_gather(const Group& group);
int doubling_rounds(int members);
/// Slots that the busiest member of each round sends, summed over the rounds: n - 1 if n = 2^k,
/// else p' - 1 + Σ_{k < lg p'} min(2^k, n - p') + n with p' = 2^⌊lg n⌋.
int doubling_slots(int members);

/// Ranks numbered node by node, with the root's node first and the root's position first on each
/// node: the ranks there are the leaders. Throws std::logic_error unless the ranks fill whole
/// nodes.
class Nodes {
 public:
  explicit Nodes(const Settings& settings);
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] int ranks_on_node() const { return ranks_on_node_; }
  [[nodiscard]] Group node(int i) const;  ///< ranks of a node, its leader first
  /// The rank at that position of each node; 0: the leaders.
  [[nodiscard]] Group place(int i) const;

 private:
  [[nodiscard]] Rank rank(int node, int place) const;
  int ranks_on_node_;
  int count_;
  Rank root_;
};

/// Broadcast of slots from the leader of every node along a chain of its ranks, on all nodes
/// concurrently.
Rounds chains_within(const Nodes& nodes, Slots slots);

}  // namespace dlscale::collective
