#pragma once
#include <span>

#include "model/what_if/explain.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Explanations of predictions, three tables each. The first has the time of each part of the
/// iteration, and the iteration without it. The second has the sensitivity to each input, largest
/// first. The third has other ways to run, most images per second first. The lead sentence names
/// the bottleneck of the last prediction and what helps most. JSON: {"schema":
/// "dlscale.explanation", "version": 2, "step": 1.1, "explanations": [{"prediction": ..., "parts":
/// [...], "inputs": [...], "advice": [...]}, ...]}. A change that cannot be predicted is null, and
/// so is the reason where it can. Requires ≥ 1.
Document explanation_document(std::span<const model::Explanation> explanations);

}  // namespace dlscale::report
