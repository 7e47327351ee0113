#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// Warnings, each with advice, about the samples of one cell in the order they were taken:
/// - the interval is wider than `wanted` (relative half width);
/// - there are too few samples for an interval;
/// - they drift: the medians of the two halves differ by more than `wanted`, and their intervals do
///   not overlap;
/// - else, they are autocorrelated: the interval from the effective number of independent samples
///   would be wider than `wanted`.
/// Requires ≥ 1 sample.
std::vector<std::string> sampling_warnings(std::span<const double> samples, double wanted);

/// Sets the status unstable, with its reason, if the interval of `time` is wider than `wanted`
/// (relative half width).
void mark_if_unstable(Measurement& measurement, const Summary& time, double wanted);

}  // namespace dlscale::bench
