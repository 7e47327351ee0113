#pragma once
#include <optional>
#include <vector>

#include "model/published/cases/curve_case.hpp"
#include "model/published/curves/size_curve.hpp"

namespace dlscale::model {

/// A given curve and its number of ranks, or of nodes if the case states only those.
struct RankCurve {
  int ranks = 1;
  int nodes = 0;  ///< 0: not stated
  SizeCurve times;
};

/// The usable curves of a case. Curves within a node say nothing about the links between nodes, and
/// other curves say little about a node alone.
struct KnownCurves {
  /// Curves of the same kind as the one asked (one node, or several), by ranks, each number once.
  std::vector<RankCurve> alike = {};
  /// The largest curve within one node, if `alike` is empty and several nodes are asked.
  std::optional<RankCurve> in_node = {};
};

/// Selects curves. It ignores curves that count in another unit than the case, or have no usable
/// point. It also ignores curves of one rank, which sends nothing, unless the case is of one rank.
/// A curve counts as alike if it is not known whether it leaves the node.
KnownCurves known_curves(const cases::CurveCase& curve);

}  // namespace dlscale::model
