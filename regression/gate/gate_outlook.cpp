#include "regression/gate/gate_outlook.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "core/base/statistics.hpp"
#include "core/text/numbers.hpp"
#include "regression/gate/auto_margin.hpp"
#include "regression/gate/paired_gate.hpp"
#include "regression/statistics/log_rounding.hpp"
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

/// What rounding allows of new / base.
LogRounding rounding_of(const GateMetric& metric) {
  return log_rounding_of_ratio({metric.base, metric.rounding}, {metric.changed, metric.rounding});
}

/// The smallest change that identical versions show not to be there, over all metrics.
struct Decidable {
  double least = 0;
  double most = 0;
};

Decidable decidable_in(const GateReport& report, const std::vector<GateLook>& looks) {
  Decidable found;
  for (const GateMetric& metric : report.metrics) {
    const std::vector<double> differences = differences_of(metric.pairs, metric.direction);
    const double rounding = rounding_above(
        differences, rounded_differences(metric.pairs, metric.direction, metric.rounding));
    const double change = decidable_change(differences, looks, rounding);
    found.least = found.least == 0 ? change : std::min(found.least, change);
    found.most = std::max(found.most, change);
  }
  return found;
}

std::string change_text(const Decidable& change) {
  constexpr double shown = 0.001;
  if (change.most < shown) return fmt::format("below {}", percent(shown));
  const std::string most = percent(change.most);
  const std::string least = percent(change.least);
  return least == most ? most : fmt::format("{} to {}, by metric,", least, most);
}

bool has_first_look(const GateReport& report) {
  return !report.looks.empty() && !report.metrics.empty() &&
         report.rounds >= rounds_of_noise(report.looks);
}

std::string changes_decided_in(int rounds, const GateReport& report) {
  return change_text(decidable_in(report, looks_up_to(rounds)));
}

}  // namespace

std::string decidable_changes(const GateReport& report) {
  if (!has_first_look(report)) return "";
  const int rounds = report.looks.back().rounds;
  return fmt::format("this machine can decide changes of {} in {} rounds",
                     changes_decided_in(rounds, report), rounds);
}

std::string decidable_by_more_rounds(const GateReport& report) {
  constexpr int most_rounds = 400;
  if (!has_first_look(report)) return "";
  const int rounds = 4 * report.looks.back().rounds;
  if (rounds > most_rounds) return "";
  return fmt::format("changes of {} would take {} rounds", changes_decided_in(rounds, report),
                     rounds);
}

double robust_deviation(std::span<const double> values) {
  constexpr double mad_of_normal = 1.4826;
  return mad_of_normal * summarize(values).mad;
}

bool is_hidden_by_rounding(const GateMetric& metric, double margin) {
  LogRounding by = rounding_of(metric);
  if (metric.direction == Direction::larger_is_better) std::swap(by.up, by.down);
  const double theta = std::log(metric.ratio);
  return by.up > 0 && theta - by.down <= std::log1p(margin) &&
         theta + by.up >= std::log1p(metric.margin);
}

std::optional<int> more_rounds(const GateMetric& metric, double margin) {
  constexpr double most = 1000;
  if (metric.verdict != Verdict::inconclusive || metric.rounds == 0) return std::nullopt;
  if (is_hidden_by_rounding(metric, margin)) return std::nullopt;
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
                    width * sigma / std::sqrt(efficiency(last, margin) * last.rounds) +
                    rounding_of(metric).down);
}

}  // namespace dlscale::regression
