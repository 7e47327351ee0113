#pragma once
#include <compare>
#include <vector>

#include "core/base/units.hpp"
#include "core/collective/algorithm.hpp"
#include "core/collective/link.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// What an algorithm of one level takes over several nodes, round by round: which of its messages
/// leave their node in a round, and how many share its way out.
///   T = Σ over rounds of the slowest of
///     within a node     α_i + b β_i + a γ_i, for each rank has a link of its own;
///     between two       α_e + B β_e + a γ_e, with B all that leaves the one node in the round, or
///                       enters the other, whichever is more
/// of messages of b bytes of which a are added. [D, derived: fair sharing (FairLinks) of one
/// full-duplex way per node, rounds one after another] Counted without a schedule, whose rounds or
/// messages are too many to list: of rings, whose every round leaves all nodes; of chains, by the
/// rounds in which a segment passes from node to node; of recursive doubling and halving and of
/// binomial trees, on as many nodes as differ in what their ranks do in a round, O(g² lg p) for g
/// ranks a node. "double_binary_tree" is its closed form, a bound, over the slower link with as
/// many sharers as one of its rounds has at most, O(p). Wrong where a rank starts its next round
/// before others have ended theirs, and where messages within a node take the way of those that
/// leave it.
class FlatRounds {
 public:
  /// Requires ranks on several nodes, and an algorithm of one level, without servers and switches,
  /// of which a rank sends one message a round at most.
  FlatRounds(const collective::Algorithm& algorithm, const Placement& placement);
  /// `links.inter` is the way out of a node, of one message that has it alone; γ 0 or more.
  [[nodiscard]] Seconds time(const collective::Links& links, int segments, Bytes m) const;
  /// The most messages that leave or enter one node in a round.
  [[nodiscard]] int sharers() const { return sharers_; }

 private:
  /// The messages of a round that take equally long, in parts of m.
  struct Message {
    bool leaves = false;  ///< its node
    double sent = 0;      ///< over the busiest way that it takes, with what shares it
    double added = 0;
    auto operator<=>(const Message&) const = default;
  };
  struct Rounds {
    std::vector<Message> messages;  ///< different ones
    int count = 0;                  ///< rounds that are alike
  };

  /// All messages of a round, which are as large.
  struct Alike {
    int sharers = 0;      ///< the most of them that leave or enter one node
    bool inside = false;  ///< whether some stay in their node
  };

  void count(const collective::Schedule& schedule);
  template <class To, class From>
  [[nodiscard]] Alike alike(int distance, int folded, To to, From from) const;
  void add(const Alike& round, double sent, double added);
  void count_exchanges(bool halves);
  void count_tree(bool reduces, bool broadcasts);
  void count_sharers_of_trees();
  [[nodiscard]] Seconds ring(const collective::Links& links, int segments, Bytes m) const;
  [[nodiscard]] Seconds chain(const collective::Links& links, int segments, Bytes m) const;
  [[nodiscard]] bool has_neighbours() const;

  const collective::Algorithm* algorithm_;
  Placement placement_;
  int sharers_ = 1;
  std::vector<Rounds> rounds_;  ///< of those that are counted one by one
};

}  // namespace dlscale::model
