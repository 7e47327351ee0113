#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// A warning that names the rank for which the others wait. A rank's own time excludes waits for
/// gradients and other ranks. The named rank's is the longest in at least nine of ten iterations
/// (of at least ten), with a median lead of at least 5 %. The iteration time, equal on all ranks,
/// cannot show this. Empty if the phases of `series`, from bench e2e, were not timed.
std::vector<std::string> longest_rank_warnings(const std::map<std::string, Series>& series);

}  // namespace dlscale::bench
