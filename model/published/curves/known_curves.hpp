#pragma once
#include <optional>
#include <vector>

#include "model/published/cases/curve_case.hpp"
#include "model/published/curves/size_curve.hpp"

namespace dlscale::model {

/// A given curve and the number of ranks (of nodes, where the case tells only those) that it is of.
struct RankCurve {
  int ranks = 1;
  int nodes = 0;  ///< 0: not told
  SizeCurve times;
};

/// What the given curves of a case tell: those that stay within a node tell nothing of the links
/// between nodes, and those that do not, little of what a node does alone.
struct KnownCurves {
  /// Of as many nodes as the one asked in that sense (one, or several), by ranks, each number once.
  std::vector<RankCurve> alike = {};
  /// The largest within one node, where none is alike and several nodes are asked.
  std::optional<RankCurve> in_node = {};
};

/// Passes over curves that count in another unit than the case, have no usable point, or are of one
/// rank, which sends nothing (unless one rank is asked). Where it is not told whether a curve
/// leaves the node, it counts as alike.
KnownCurves known_curves(const cases::CurveCase& curve);

}  // namespace dlscale::model
