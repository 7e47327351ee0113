#pragma once
#include <vector>

namespace dlscale {

/// Per sample, the maximum over ranks, for a step is as slow as its last rank: what the summary of
/// a series describes. Requires ≥ 1 rank and equally many samples of each.
std::vector<double> slowest_rank(const std::vector<std::vector<double>>& samples);

}  // namespace dlscale
