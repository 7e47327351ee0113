#pragma once
#include <string_view>

namespace dlscale::report {

/// The statistic that reduces the samples of a run to one number.
enum class RunStatistic { minimum, median, single };
/// "minimum", "median", "single".
std::string_view run_statistic_name(RunStatistic statistic);

}  // namespace dlscale::report
