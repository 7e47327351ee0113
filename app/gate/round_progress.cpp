#include "app/gate/round_progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text/numbers.hpp"
#include "core/text/progress_line.hpp"
#include "core/text/shown_text.hpp"

namespace dlscale::app {
namespace {

using report::GateMetric;

bool is_open(const GateMetric& metric) {
  return metric.verdict == report::Verdict::inconclusive;
}

/// The end of a metric's key, which distinguishes metrics better than its beginning.
std::string short_name(const GateMetric& metric) {
  constexpr std::size_t most = 32;
  const std::string& key = metric.key;
  if (key.size() <= most) return shown_text(key);
  std::size_t from = key.size() - most + 3;
  while (from < key.size() && (key[from] & 0xC0) == 0x80) ++from;  // do not cut a UTF-8 character
  return fmt::format("...{}", shown_text(key.substr(from)));
}

std::string effect_of(const GateMetric& metric) {
  std::string effect =
      fmt::format(", {} {}", short_name(metric), signed_percent(metric.ratio - 1));
  if (!metric.ratio_low || !metric.ratio_high || !(*metric.ratio_low > 0)) return effect;
  const double half = std::sqrt(*metric.ratio_high / *metric.ratio_low) - 1;
  return fmt::format("{} ±{:.1f}", effect, half * 100);
}

std::string worst_open(const report::GateReport& report) {
  const GateMetric* worst = nullptr;
  for (const GateMetric& metric : report.metrics) {
    if (is_open(metric) && (worst == nullptr || metric.ratio > worst->ratio)) worst = &metric;
  }
  return worst == nullptr ? "" : effect_of(*worst);
}

}  // namespace

std::string gate_progress(const report::GateReport& report, double round_s,
                          const std::optional<double>& budget_s) {
  const int most = report.looks.empty() ? report.rounds : report.looks.back().rounds;
  const auto open = std::ranges::count_if(report.metrics, is_open);
  const double left = round_s * (most - report.rounds);
  const std::string aside =
      report.set_aside == 0 ? "" : fmt::format(", {} set aside", report.set_aside);
  return fmt::format(
      "[{}/{} rounds{}] {} of {} open{} (at most {} left)", report.rounds, most, aside, open,
      counted(static_cast<long long>(report.metrics.size()), "metric"), worst_open(report),
      duration_text(std::max(0.0, std::min(left, budget_s.value_or(left)))));
}

std::string noise_progress(int rounds, double spent_s, double budget_s) {
  return fmt::format("[{}, {:.1f} of {:.1f} min] (about {} left)", counted(rounds, "round"),
                     spent_s / 60, budget_s / 60, duration_text(std::max(0.0, budget_s - spent_s)));
}

}  // namespace dlscale::app
