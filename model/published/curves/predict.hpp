#pragma once
#include <span>
#include <vector>

#include "model/published/cases/prediction.hpp"

namespace dlscale::model {

/// Times of collectives over the sizes asked (docs/CURVES.md), each with a 90 % interval; a
/// cases::CurvePredictor. In the order of what is known:
///   the number of ranks itself is given         interpolated by size                 SizeCurve
///   GPUs of a node that rings of links join     size with the same load of a link    ringed()
///   several numbers of ranks                    a + s lg p by size                   more_ranks()
///   one number of ranks                         latency lg p, the rest as a ring     one_step()
///   one node given, several asked               hierarchical, links by data sheet    over_nodes()
/// Of the last size asked the terms tell latency and transfer. outside_domain, with the reason:
/// sizes beyond those given, more than four times the ranks given, the step over nodes, GPUs that
/// no ring of links joins, numbers of ranks that do not foretell each other. not_covered, with the
/// reason: what nothing tells.
std::vector<cases::CasePrediction> predict_curves(std::span<const cases::CurveCase> curves);

}  // namespace dlscale::model
