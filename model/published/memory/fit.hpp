#pragma once
#include <span>

#include "model/memory/implementation.hpp"
#include "model/published/memory/memory_case.hpp"

namespace dlscale::model::memory {

/// Fits an implementation's fragmentation and its range to trainings that ran, by
///   min Σ |ln(predicted / measured)|
/// over the three numbers of Fragmentation, to 0.001 and 0.06 bytes. The range
/// holds the middle 90 % of measured over predicted activations, of trainings in which they are at
/// least a tenth of the peak. Other numbers of `start` stay. Trainings that did not run are not
/// read. Requires one outcome for each case, and one that ran.
Implementation fit_fragmentation(const Implementation& start, std::span<const MemoryCase> cases,
                                 std::span<const MemoryOutcome> outcomes);

}  // namespace dlscale::model::memory
