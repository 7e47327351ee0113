#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "model/published/cases/prediction.hpp"

namespace dlscale::model {

/// Predicts times of collectives as `predict --collective --algorithm ALGORITHM` does, from the
/// data sheets of their links, without the given points: answer() on a cluster with the links of
/// the curve. NVLinks are those of the shipped cluster of their generation with as many GPUs a
/// node; PCI Express and links between nodes have the stated rate. Messages of host memory are
/// those of clusters of processors. Curves whose links are not stated, or are of other nodes, are
/// not_covered, as are those that answer() refuses.
std::vector<cases::CasePrediction> predict_by_sheets(std::span<const cases::CurveCase> curves,
                                                     std::string_view algorithm);

}  // namespace dlscale::model
