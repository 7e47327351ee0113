#pragma once
#include <string_view>

#include "core/base/error.hpp"

namespace dlscale::regression {

/// The better direction of a metric. Declared where a metric is defined, never guessed from
/// numbers.
enum class Direction {
  smaller_is_better,  ///< times
  larger_is_better,   ///< rates
  steady,             ///< neither: a change either way is reported, as for a prediction's error
};

/// "smaller_is_better", "larger_is_better", "steady".
std::string_view direction_name(Direction direction);

/// +1 if larger is worse, −1 if larger is better: sign · ln(b / a) > 0 means that b is worse than
/// a. Steady metrics count as times.
double worse_sign(Direction direction);

/// The statistic that reduces the samples of a run to one number.
enum class RunStatistic { minimum, median, single };
/// "minimum", "median", "single".
std::string_view run_statistic_name(RunStatistic statistic);

/// Verdict on the change of a quantity between two versions. Each comparison uses a subset.
enum class Verdict {
  improved,       ///< better by more than the margin
  unchanged,      ///< within the margin both ways
  not_regressed,  ///< worse by less than the margin; improvement was not tested
  regressed,
  shifted,       ///< changed, where neither direction is better
  inconclusive,  ///< more measurements are needed
  wrong,         ///< the answer is wrong, so its speed does not matter
};
/// "improved", "unchanged", "not regressed", "regressed", "shifted", "inconclusive", "wrong".
std::string_view verdict_name(Verdict verdict);

ExitCode exit_code(Verdict verdict);

}  // namespace dlscale::regression
