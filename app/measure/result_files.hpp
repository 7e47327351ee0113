#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/results/measurement.hpp"

namespace dlscale::app {

/// The result files among `paths` (files, or folders searched for *.jsonl) of the benchmarks named.
std::vector<ResultFile> results_of(const std::vector<std::string>& paths,
                                   const std::vector<std::string_view>& benchmarks);

/// All result files among `paths`. One that is named twice, be it by a folder or a link, counts
/// once.
std::vector<ResultFile> all_results(const std::vector<std::string>& paths);

}  // namespace dlscale::app
