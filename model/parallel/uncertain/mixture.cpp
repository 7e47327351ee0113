#include "model/parallel/uncertain/mixture.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/normal_distribution.hpp"

namespace dlscale::model::parallel_time {
namespace {

/// Share of a way's times below e^`at`.
double share_below(const PossibleTime& way, double at) {
  const double distance = at - std::log(way.seconds);
  const double width =
      (distance < 0 ? std::log(way.seconds / way.low) : std::log(way.high / way.seconds)) /
      normal_quantile_95;
  return normal_share_below(distance / width);
}

double quantile(std::span<const PossibleTime> ways, double whole, double share) {
  double low = std::log(ways.front().low);
  double high = std::log(ways.front().high);
  for (const PossibleTime& way : ways) {  // three half-widths beyond every end
    low = std::min(low, 3 * std::log(way.low) - 2 * std::log(way.seconds));
    high = std::max(high, 3 * std::log(way.high) - 2 * std::log(way.seconds));
  }
  while (high - low > 1e-7) {
    const double middle = 0.5 * (low + high);
    double below = 0;
    for (const PossibleTime& way : ways) below += way.weight / whole * share_below(way, middle);
    (below < share ? low : high) = middle;
  }
  return std::exp(0.5 * (low + high));
}

}  // namespace

MixedTime mixed_time(std::span<const PossibleTime> ways) {
  double whole = 0;
  for (const PossibleTime& way : ways) whole += way.weight;
  double logarithm = 0;
  for (const PossibleTime& way : ways) logarithm += way.weight / whole * std::log(way.seconds);
  MixedTime mixed{std::exp(logarithm), quantile(ways, whole, 0.05), quantile(ways, whole, 0.95)};
  mixed.low = std::min(mixed.low, mixed.seconds);
  mixed.high = std::max(mixed.high, mixed.seconds);
  return mixed;
}

}  // namespace dlscale::model::parallel_time
