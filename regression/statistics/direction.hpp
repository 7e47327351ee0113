#pragma once
#include <string_view>

namespace dlscale::report {

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

}  // namespace dlscale::report
