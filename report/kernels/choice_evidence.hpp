#pragma once
#include <span>

#include "core/results/measurement.hpp"
#include "model/roofline/fit/choice_judge.hpp"

namespace dlscale::report {

/// Evidence on choices beyond times, from results of bench conv. It lists the questions that they
/// answer completely. It also counts the steps that run each kernel in one iteration of each of
/// their networks, as configured now. Networks that can no longer be read do not count.
model::ChoiceEvidence choice_evidence(std::span<const ResultFile> results);

}  // namespace dlscale::report
