#pragma once
#include <vector>

#include "core/base/units.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::model {

/// A grid of N = D · W ranks, of which g share a node. W ranks take a branch each of the same
/// samples; D ranks have the same branch.
struct BranchGrid {
  int ranks = 1;           ///< N
  int ranks_per_node = 1;  ///< g
  int branches = 1;        ///< W, a divisor of N
  int branches_on_node =
      1;  ///< of the W ranks of a group; a divisor of W, and of g on several nodes
  /// Whether each group has the rate of a node's way out to itself: an upper bound.
  bool own_way_out = false;
  [[nodiscard]] int copies() const { return ranks / branches; }  ///< D
};

/// The ways to place groups of branches on nodes: numbers of their ranks that share one. Empty if
/// groups do not fill the nodes.
std::vector<int> placements_of(int ranks, int ranks_per_node, int branches);

/// The time of a message, start + m · per_byte.
struct MessageLine {
  Seconds start;
  SecondsPerByte per_byte;
  [[nodiscard]] Seconds time(Bytes m) const { return start + m * per_byte; }
};

/// The messages of a grid by data sheets, in the terms of sheet_messages(). Groups that leave a
/// node at once share its way out:
///   β = (β₁³ + (k β_e)³)^(1/3)   over nodes, β₁ and β_e within and between nodes for one group
///   k = b for copies of a branch, g / b for a group of branches, with b branches on a node
/// Neighbouring nodes hold a group of branches, so that it meets no thinner links above them;
/// copies of a branch meet those of the whole machine. An all-gather and a reduce-scatter take half
/// of an all-reduce. [D, derived from exchange_cost()]
struct BranchMessages {
  MessageLine serial;  ///< all-reduce over all N
  MessageLine copies;  ///< all-reduce over the D copies of a branch
  MessageLine group;   ///< all-gather or reduce-scatter over W; m counts the samples of all W
};

/// Requires a machine of data sheets. Throws as cluster_facts() does.
BranchMessages branch_messages(const Machine& machine, const BranchGrid& grid);

}  // namespace dlscale::model
