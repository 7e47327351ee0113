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
  const GateMethod method =
      method_for(static_cast<std::size_t>(look.rounds), margin, GateRule::Method::by_rounds);
  return (method == GateMethod::signed_rank ? 3 : 2) / std::numbers::pi;
}

std::string kind_name(const GateMetric& metric) {
  const std::string benchmark = metric.key.substr(0, metric.key.find(' '));
  return metric.series.empty() || metric.series == "time" ? benchmark
                                                          : benchmark + ": " + metric.series;
}

/// Accumulates sums of logarithms; means are taken at the end.
void add(const GateMetric& metric, GateKind& kind) {
  ++kind.metrics;
  kind.base += std::log(metric.base);
  kind.changed += std::log(metric.changed);
  kind.ratio += std::log(metric.ratio);
}

GateKind finished(GateKind kind) {
  for (double* sum : {&kind.base, &kind.changed, &kind.ratio}) {
    *sum = std::exp(*sum / kind.metrics);
  }
  return kind;
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

std::optional<double> noise_of_base(const GateMetric& metric) {
  if (metric.pairs.size() < enough_rounds) return std::nullopt;
  std::vector<double> base;
  for (const GatePair& pair : metric.pairs) base.push_back(pair.base);
  return robust_deviation(base) / median(base);
}

std::optional<double> smallest_seen(const GateMetric& metric, double margin, const GateLook& last) {
  if (metric.pairs.size() < enough_rounds) return std::nullopt;
  const double sigma = robust_deviation(differences_of(metric.pairs, metric.direction));
  const double width = normal_quantile(1 - last.alpha) + normal_quantile(wanted_power);
  return std::expm1(std::log1p(margin) +
                    width * sigma / std::sqrt(efficiency(last, margin) * last.rounds));
}

std::vector<GateKind> gate_kinds(const GateReport& gate) {
  std::vector<GateKind> kinds;
  for (const GateMetric& metric : gate.metrics) {
    const std::string name = kind_name(metric);
    auto found = std::ranges::find_if(
        kinds, [&](const GateKind& kind) { return kind.name == name && kind.unit == metric.unit; });
    if (found == kinds.end()) found = kinds.insert(found, {name, metric.unit, 0, 0, 0, 0});
    add(metric, *found);
  }
  std::erase_if(kinds, [](const GateKind& kind) { return kind.metrics < 2; });
  std::ranges::transform(kinds, kinds.begin(), finished);
  return kinds;
}

}  // namespace dlscale::regression
