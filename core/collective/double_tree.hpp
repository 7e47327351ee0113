#pragma once
#include <vector>

#include "core/base/ids.hpp"

namespace dlscale::collective {

/// An edge of one of the two trees of "double_binary_tree"; each tree carries half of a message.
struct TreeEdge {
  int tree = 0;
  Rank parent = 0;
  Rank child = 0;
  int parity = 0;  ///< parity of the rounds that use it
};

/// The edges of both trees over p ≥ 1 ranks; edges that enter a rank come before those that leave
/// it. Edges that leave one rank, or enter one, differ in parity. So no rank sends or receives
/// twice in a round of a broadcast along both trees. O(p). [Sanders, Speck, Träff 2009]
std::vector<TreeEdge> double_tree_edges(int p);

}  // namespace dlscale::collective
