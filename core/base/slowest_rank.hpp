#pragma once
#include <vector>

namespace dlscale {

/// Per sample, the maximum over ranks, because a step is as slow as its last rank. The summary of a
/// series describes these values. Requires ≥ 1 rank and the same number of samples on each.
std::vector<double> slowest_rank(const std::vector<std::vector<double>>& samples);

}  // namespace dlscale
