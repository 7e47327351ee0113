#include "regression/gate/gate_outlook.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
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

/// The range of log(new / base) that the printed digits allow.
LogRounding rounding_of(const GateMetric& metric) {
  return log_rounding_of_ratio({metric.base, metric.rounding}, {metric.changed, metric.rounding});
}

std::optional<double> log_of(const std::optional<double>& ratio) {
  if (!ratio || !(*ratio > 0)) return std::nullopt;
  return std::log(*ratio);
}

/// All rounds that a bound, which nears the estimate by √n, needs to reach the limit.
double rounds_until(const GateMetric& metric, std::optional<double> bound, double limit) {
  const double theta = std::log(metric.ratio);
  if (!bound || theta == limit) return std::numeric_limits<double>::infinity();
  const double widths = (*bound - theta) / (limit - theta);
  return metric.rounds * widths * widths;
}

/// U' of the rounds that the estimate is of; absent where they are unknown.
std::optional<double> far_bound(const GateMetric& metric, const GateReport& gate) {
  const auto rounds = static_cast<std::size_t>(metric.rounds);
  const auto look = std::ranges::find(gate.looks, metric.rounds, &GateLook::rounds);
  if (look == gate.looks.end() || metric.pairs.size() < rounds) return std::nullopt;
  const std::span pairs = std::span(metric.pairs).first(rounds);
  return estimate_gate(differences_of(pairs, metric.direction), least_margin(gate), look->alpha,
                       rounded_differences(pairs, metric.direction, metric.rounding))
      .far_high;
}

/// All rounds until U is below the margin and U' below twice the margin.
double rounds_until_below(const GateMetric& metric, const GateReport& gate, double margin) {
  const double needed = rounds_until(metric, log_of(metric.ratio_high), std::log1p(margin));
  const std::optional<double> far = far_bound(metric, gate);
  return far ? std::max(needed, rounds_until(metric, far, std::log1p(2 * margin))) : needed;
}

/// The same for a margin that noise chose; infinity if L will be above 0 before, which such a
/// margin does not clear.
double rounds_until_cleared(const GateMetric& metric, const GateReport& gate) {
  const double never = std::numeric_limits<double>::infinity();
  const double theta = std::log(metric.ratio);
  if (theta > std::log1p(metric.margin)) return never;
  const double needed = rounds_until_below(metric, gate, metric.margin);
  if (theta <= 0) return needed;
  const double slower = rounds_until(metric, log_of(metric.ratio_low), 0);
  return std::max<double>(needed, metric.rounds) < slower ? needed : never;
}

/// The smallest change that identical versions show not to be there, over all metrics.
struct Decidable {
  double least = 0;
  double most = 0;
};

Decidable decidable_in(const GateReport& report, const GateRule& rule) {
  Decidable found;
  for (const GateMetric& metric : report.metrics) {
    const std::vector<double> differences = differences_of(metric.pairs, metric.direction);
    const double rounding = rounding_above(
        differences, rounded_differences(metric.pairs, metric.direction, metric.rounding));
    const double change = decidable_change(differences, rule, rounding);
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
  const GateRule rule{.margin = least_margin(report), .looks = looks_up_to(rounds)};
  return change_text(decidable_in(report, rule));
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

std::optional<int> more_rounds(const GateMetric& metric, const GateReport& gate) {
  constexpr double most = 1000;
  const double least = least_margin(gate);
  if (metric.verdict != Verdict::inconclusive || metric.rounds == 0) return std::nullopt;
  if (is_hidden_by_rounding(metric, least)) return std::nullopt;
  double needed = std::log(metric.ratio) > std::log1p(least)
                      ? rounds_until(metric, log_of(metric.ratio_low), std::log1p(least))
                      : rounds_until_below(metric, gate, least);
  if (metric.margin > least) needed = std::min(needed, rounds_until_cleared(metric, gate));
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
