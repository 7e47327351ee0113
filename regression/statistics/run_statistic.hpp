#pragma once
#include <string_view>

namespace dlscale::report {

/// The statistic that makes one number of the samples of a run.
enum class RunStatistic { minimum, median, single };
/// "minimum", "median", "single".
std::string_view run_statistic_name(RunStatistic statistic);

}  // namespace dlscale::report
