#pragma once
#include <span>

#include "model/what_if/explain.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Explanations of predictions, three tables for each: what each part of the iteration takes and
/// what the iteration would be without it; how it follows each input, what changes it most first;
/// other ways to run, most images a second first. Led by a sentence on what bounds the last of them
/// and what helps most. JSON: {"schema": "dlscale.explanation", "version": 1, "step": 1.1,
/// "explanations": [{"prediction": ..., "parts": [...], "inputs": [...], "advice": [...]}, ...]};
/// null stands where a change cannot be predicted, and for the reason why not where it can.
/// Requires ≥ 1.
Document explanation_document(std::span<const model::Explanation> explanations);

}  // namespace dlscale::report
