#pragma once
#include <string>
#include <vector>

namespace dlscale::bench {

/// A warning that names the rank which was last in at least nine of ten samples (samples[rank][i],
/// at least ten of them), by 5 % of its time or more in the median; none where ranks take turns, or
/// there is one rank. For traffic in which all ranks do the same, as in an all-reduce.
std::vector<std::string> straggler_warnings(const std::vector<std::vector<double>>& samples);

}  // namespace dlscale::bench
