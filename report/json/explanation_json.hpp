#pragma once
#include <span>
#include <string>

#include "model/what_if/explain.hpp"

namespace dlscale::report {

/// {"schema": "dlscale.explanation", "version": 1, "step": 1.1, "explanations": [{"prediction":
/// ..., "parts": [...], "inputs": [...], "advice": [...]}, ...]}, strict JSON in SI with the unit
/// in the key. Null stands where a change cannot be predicted, and for the reason why not where it
/// can.
std::string explanation_json(std::span<const model::Explanation> explanations);

}  // namespace dlscale::report
