#pragma once
#include <string_view>

namespace dlscale::report {

/// Which way of a metric is good. Declared by the metric, never guessed from numbers: times are
/// better small, rates large.
enum class Direction { smaller_is_better, larger_is_better };

/// "smaller_is_better", "larger_is_better".
std::string_view direction_name(Direction direction);

/// +1 if more is worse, −1 if more is better: sign · ln(b / a) > 0 says that b is worse than a.
double worse_sign(Direction direction);

}  // namespace dlscale::report
