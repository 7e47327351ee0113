#include "regression/statistics/log_rounding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace dlscale::regression {
namespace {

constexpr double most_rounding = 0.999;

/// "1 ns", "0.01 us".
std::string unit_text(double seconds) {
  constexpr std::array units{std::pair{1.0, "s"}, std::pair{1e-3, "ms"}, std::pair{1e-6, "us"}};
  constexpr double least_shown = 0.0099;
  for (const auto& [unit, name] : units) {
    if (seconds >= least_shown * unit) return fmt::format("{:.3g} {}", seconds / unit, name);
  }
  return fmt::format("{:.3g} ns", seconds * 1e9);
}

}  // namespace

LogRounding log_rounding(const PrintedValue& printed) {
  if (!(printed.rounding > 0)) return {};
  const double share = std::min(printed.rounding / printed.value, most_rounding);
  return {std::log1p(share), -std::log1p(-share)};
}

LogRounding log_rounding_of_ratio(const PrintedValue& a, const PrintedValue& b) {
  const LogRounding of_a = log_rounding(a);
  const LogRounding of_b = log_rounding(b);
  return {of_b.up + of_a.down, of_b.down + of_a.up};
}

double smallest_printed_change(const PrintedValue& seconds) {
  return 2 * seconds.rounding / seconds.value;
}

std::string rounding_words(const PrintedValue& seconds) {
  const double change = 100 * smallest_printed_change(seconds);
  const int decimals = change < 10 ? 1 : 0;
  return fmt::format("printed to {}, so changes below {:.{}f} % cannot be seen",
                     unit_text(2 * seconds.rounding), change, decimals);
}

}  // namespace dlscale::regression
