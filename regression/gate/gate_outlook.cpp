#include "regression/gate/gate_outlook.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/statistics.hpp"
#include "regression/gate/paired_gate.hpp"
#include "regression/statistics/student_t.hpp"

namespace dlscale::regression {
namespace {

constexpr std::size_t enough_rounds = 3;

double normal_quantile(double p) {
  constexpr double as_good_as_normal = 1e6;
  return student_t_quantile(p, as_good_as_normal);
}

/// Efficiency of the test that judges this look.
double efficiency(const GateLook& look, double margin) {
  const GateMethod method = method_for(static_cast<std::size_t>(look.rounds), margin);
  return (method == GateMethod::signed_rank ? 3 : 2) / std::numbers::pi;
}

}  // namespace

double robust_deviation(std::span<const double> values) {
  constexpr double mad_of_normal = 1.4826;
  return mad_of_normal * summarize(values).mad;
}

std::optional<int> more_rounds(const GateMetric& metric, double margin) {
  constexpr double most = 1000;
  if (metric.verdict != Verdict::inconclusive || metric.rounds == 0) return std::nullopt;
  const double limit = std::log1p(margin);
  const double theta = std::log(metric.ratio);
  const std::optional<double>& end = theta > limit ? metric.ratio_low : metric.ratio_high;
  if (!end || !(*end > 0)) return std::nullopt;
  const double half = std::abs(theta - std::log(*end));
  const double distance = std::abs(theta - limit);
  const double needed = metric.rounds * (half / distance) * (half / distance);
  if (!(needed <= most)) return std::nullopt;
  return std::max(1, static_cast<int>(std::ceil(needed)) - metric.rounds);
}

std::optional<double> smallest_seen(const GateMetric& metric, double margin, const GateLook& last) {
  if (metric.pairs.size() < enough_rounds) return std::nullopt;
  const double sigma = robust_deviation(differences_of(metric.pairs, metric.direction));
  const double width = normal_quantile(1 - last.alpha) + normal_quantile(wanted_power);
  return std::expm1(std::log1p(margin) +
                    width * sigma / std::sqrt(efficiency(last, margin) * last.rounds));
}

}  // namespace dlscale::regression
