#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// What is questionable about samples of one cell in the order in which they were taken, each with
/// advice: an interval wider than `wanted` (relative half width), too few samples for an interval,
/// a drift (the intervals of the medians of the two halves do not overlap, and differ by more than
/// `wanted`), or, if it is none of these, neighbouring samples so much alike that the interval
/// would be wider than `wanted` by as many independent ones as they are worth. Requires ≥ 1 sample.
std::vector<std::string> sampling_warnings(std::span<const double> samples, double wanted);

/// Gives the status unstable, with its reason, if the interval of `time` is wider than `wanted`
/// (relative half width).
void mark_if_unstable(Measurement& measurement, const Summary& time, double wanted);

}  // namespace dlscale::bench
