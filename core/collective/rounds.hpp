#pragma once
#include <vector>

#include "core/base/ids.hpp"
#include "core/collective/algorithm.hpp"
#include "core/collective/contract.hpp"
#include "core/collective/schedule.hpp"

namespace dlscale::collective {

/// The parts that schedules are put together from: each is written for a group, whose members are
/// numbered 0, 1, … in its order, and with it the counts that closed forms need. Where there is a
/// root, it is member 0.
using Group = std::vector<Rank>;

/// All p ranks: first, first + 1, … around to first - 1.
Group everyone(int p, Rank first = 0);

/// One after another, and at the same time round by round.
Rounds in_turn(Rounds first, const Rounds& second);
Rounds at_once(Rounds one, const Rounds& other);

/// The rounds in opposite order and direction. A broadcast run backwards, adding, is a reduce to
/// its root, and an all-gather a reduce-scatter, if each member receives each slot once at most;
/// copying, a scatter becomes a gather.
Rounds backwards(const Rounds& rounds, Transfer::Action action = Transfer::Action::add);

/// Broadcast of slots from member 0 along a binomial tree: ⌈lg n⌉ rounds of all of them.
Rounds binomial_broadcast(const Group& group, Slots slots);

/// Scatter of slots 0 … n - 1, one for each member, along a binomial tree: ⌈lg n⌉ rounds, in which
/// member 0 sends n - 1 slots altogether and no member more in any.
Rounds binomial_scatter(const Group& group);

/// Broadcast of slots from member 0 along a chain, one slot after another.
Rounds chain_broadcast(const Group& group, Slots slots);
/// How many rounds that takes with so many slots: n - 2 + slots, or none for one member.
int chain_rounds(int members, int slots);

/// The blocks of an all-gather: that of member i is slots [first + i · stride, … + count).
struct Blocks {
  int first = 0;
  int stride = 1;
  int count = 1;
};

/// All-gather around a ring: n - 1 rounds of one block.
Rounds ring_all_gather(const Group& group, Blocks blocks);

/// All-gather of one slot for each member by recursive doubling. Where their number is not a power
/// of 2, members pair up as in PowerOfTwoGroup: one hands its slot to the other before, and gets
/// all others after.
Rounds doubling_all_gather(const Group& group);
int doubling_rounds(int members);
/// The slots that the busiest member of each round sends, summed over the rounds: n - 1 if n = 2^k,
/// else p' - 1 + Σ_{k < lg p'} min(2^k, n - p') + n with p' = 2^⌊lg n⌋.
int doubling_slots(int members);

/// Ranks as they are numbered node by node, with the root's node first and the root's place first
/// on each node: the ranks there are the leaders. Throws std::logic_error unless the ranks are a
/// whole number of nodes.
class Nodes {
 public:
  explicit Nodes(const Settings& settings);
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] int ranks_on_node() const { return ranks_on_node_; }
  [[nodiscard]] Group node(int i) const;   ///< the ranks of a node, its leader first
  [[nodiscard]] Group place(int i) const;  ///< the rank at that place of each node; 0: the leaders

 private:
  [[nodiscard]] Rank rank(int node, int place) const;
  int ranks_on_node_;
  int count_;
  Rank root_;
};

/// Broadcast of slots from the leader of every node along a chain of its ranks, on all at once.
Rounds chains_within(const Nodes& nodes, Slots slots);

}  // namespace dlscale::collective
