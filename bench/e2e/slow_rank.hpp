#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// A warning that names the rank for which the others wait: by what it spends itself, which is all
/// but the waits for gradients and for what ranks tell each other, it is the longest in at least
/// nine of ten iterations (at least ten of them), by 5 % of their time or more in the median. An
/// iteration takes all ranks equally long, so that t_iter shows nothing of it. None where the
/// phases of `series`, which are those of bench e2e, were not timed.
std::vector<std::string> longest_rank_warnings(const std::map<std::string, Series>& series);

}  // namespace dlscale::bench
