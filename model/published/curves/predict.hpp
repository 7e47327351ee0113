#pragma once
#include <span>
#include <vector>

#include "model/published/cases/prediction.hpp"

namespace dlscale::model {

/// Predicts times of collectives over the sizes asked (docs/explanation/curves.md), each with a
/// 90 % interval; a cases::CurvePredictor. The first line that applies is used:
///   the number of ranks itself is given         interpolated by size                 SizeCurve
///   GPUs of a node that rings of links join     size with the same load of a link    ringed()
///   several numbers of ranks                    a + s lg p and p^s by size           more_ranks()
///   one number of ranks                         latency lg p, the rest as a ring     one_step()
///   one node given, several asked               hierarchical, links by data sheet    over_nodes()
/// The terms are latency and transfer of the largest size asked. Reasons for outside_domain are
/// sizes beyond those given, more than four times the ranks given, and the step over nodes. Others
/// are GPUs that no ring of links joins, and numbers of ranks that predict each other badly. Cases
/// that nothing predicts are not_covered, with the reason.
std::vector<cases::CasePrediction> predict_curves(std::span<const cases::CurveCase> curves);

}  // namespace dlscale::model
