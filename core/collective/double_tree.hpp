#pragma once
#include <vector>

#include "core/base/ids.hpp"

namespace dlscale::collective {

/// An edge of one of the two trees of "double_binary_tree", of which each carries half of a
/// message.
struct TreeEdge {
  int tree = 0;
  Rank parent = 0;
  Rank child = 0;
  int parity = 0;  ///< of the rounds in which it is used
};

/// The edges of both trees over p ≥ 1 ranks, those that enter a rank before those that leave it.
/// Edges that leave one rank, or enter one, differ in parity: a broadcast along both trees then
/// never has a rank send or receive twice in a round. O(p). [Sanders, Speck, Träff 2009]
std::vector<TreeEdge> double_tree_edges(int p);

}  // namespace dlscale::collective
