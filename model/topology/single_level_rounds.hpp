#pragma once
#include <compare>
#include <vector>

#include "core/base/units.hpp"
#include "core/collective/algorithm.hpp"
#include "core/collective/schedule.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// Time of a single-level algorithm over several nodes, round by round: it accounts for the
/// messages that leave their node in a round, and how many share its way out.
///   T = Σ over rounds of the slowest of
///     within a node     α_i + b β_i + a γ_i, as each rank has a link of its own;
///     between two       α_e + B β_e + a γ_e, with B the larger of the bytes that leave the
///                       one node and that enter the other
/// of messages of b bytes of which a are added. [D, derived: fair sharing (MaxMinFairLinks) of one
/// full-duplex way per node, rounds one after another]
/// Counted without a schedule where rounds or messages are too many to list. A ring leaves all
/// nodes in every round. A chain counts the rounds in which a segment passes between nodes.
/// Recursive doubling and halving and binomial trees count only nodes whose ranks differ in a
/// round, O(g² lg p) for g ranks a node. Pairwise exchanges and Bruck's blocks count by the
/// distance of their rounds. The algorithm "double_binary_tree" takes its closed form, a bound,
/// over the slower link with the most sharers of its rounds, O(p). Wrong where a rank starts its
/// next round before others have ended theirs. Wrong where messages within a node share its way
/// out.
class SingleLevelRounds {
 public:
  /// Requires ranks on several nodes, and a single-level algorithm without servers and switches, of
  /// which a rank sends at most one message a round.
  SingleLevelRounds(const collective::Algorithm& algorithm, const Placement& placement);
  /// `links.inter` is the way out of a node for a single message; γ ≥ 0.
  [[nodiscard]] Seconds time(const collective::Links& links, int segments, Bytes m) const;
  /// The most messages that leave or enter one node in a round.
  [[nodiscard]] int sharers() const { return sharers_; }

 private:
  /// Messages of a round that take the same time, in parts of m.
  struct Message {
    bool leaves = false;  ///< its node
    double sent = 0;      ///< over the busiest way on its path, times its sharers
    double added = 0;
    auto operator<=>(const Message&) const = default;
  };
  struct Rounds {
    std::vector<Message> messages;  ///< without duplicates
    int count = 0;                  ///< number of identical rounds
  };

  /// All messages of a round, of equal size.
  struct Alike {
    int sharers = 0;      ///< most of them that leave or enter one node
    bool inside = false;  ///< whether some stay in their node
  };

  void count(const collective::Schedule& schedule);
  template <class To, class From>
  [[nodiscard]] Alike alike(int distance, int folded, To to, From from) const;
  void add(const Alike& round, double sent, double added);
  void count_exchanges(bool halves);
  void count_tree(bool reduces, bool broadcasts);
  void count_sharers_of_trees();
  void count_shifts();
  [[nodiscard]] Seconds ring(const collective::Links& links, int segments, Bytes m) const;
  [[nodiscard]] Seconds chain(const collective::Links& links, int segments, Bytes m) const;
  [[nodiscard]] bool has_neighbours() const;

  const collective::Algorithm* algorithm_;
  Placement placement_;
  int sharers_ = 1;
  std::vector<Rounds> rounds_;  ///< empty for algorithms with a formula of their own
};

}  // namespace dlscale::model
