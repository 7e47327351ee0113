#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/results/measurement.hpp"

namespace dlscale::app {

/// The result files of the named benchmarks among `paths` (files, or folders searched for *.jsonl).
std::vector<ResultFile> results_of(const std::vector<std::string>& paths,
                                   const std::vector<std::string_view>& benchmarks);

/// All result files among `paths`. A file that is named twice, also by a folder or a link, counts
/// once.
std::vector<ResultFile> all_results(const std::vector<std::string>& paths);

}  // namespace dlscale::app
