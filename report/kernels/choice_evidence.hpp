#pragma once
#include <span>

#include "core/results/measurement.hpp"
#include "model/roofline/fit/choice_judge.hpp"

namespace dlscale::report {

/// What results of bench conv say of choices beside times: questions that they answer in full, and
/// how many steps run each kernel, in one iteration of each network that they were made of, as it
/// is configured now. Networks that cannot be read any more do not count.
model::ChoiceEvidence choice_evidence(std::span<const ResultFile> results);

}  // namespace dlscale::report
