#include "regression/gate/gate_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text/escape_for_terminal.hpp"
#include "regression/gate/auto_margin.hpp"

namespace dlscale::regression {
namespace {

constexpr std::size_t longest_headline = 140;
constexpr std::size_t most_of_machine = 40;
/// A shorter text does not identify the machine.
constexpr std::size_t least_of_machine = 12;
/// The name of a metric takes precedence over the machine's.
constexpr std::size_t least_of_name = 24;

long count_of(const std::vector<GateMetric>& metrics, Verdict verdict) {
  return std::ranges::count(metrics, verdict, &GateMetric::verdict);
}

/// Number of UTF-8 characters, not bytes.
std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return (byte & 0xC0) != 0x80; }));
}

/// At most `most` characters; the last is "…" if some are left out.
std::string shortened(std::string_view text, std::size_t most) {
  if (characters(text) <= most) return std::string(text);
  std::string result;
  std::size_t taken = 0;
  for (const char byte : text) {
    const bool begins = (byte & 0xC0) != 0x80;
    if (begins && ++taken >= most) break;
    result += byte;
  }
  return most == 0 ? "" : result + "…";
}

std::string percent_change(double ratio) {
  return fmt::format("{:+.1f}", (ratio - 1) * 100);
}

std::string interval(const GateMetric& metric) {
  if (!metric.ratio_low || !metric.ratio_high) return "";
  return fmt::format(" ({} to {})", percent_change(*metric.ratio_low),
                     percent_change(*metric.ratio_high));
}

/// The largest change; of those called regressed if there are some.
const GateMetric* worst(const GateReport& report) {
  const auto badness = [](const GateMetric& metric) {
    return std::pair(metric.verdict == Verdict::regressed, metric.ratio);
  };
  const auto found = std::ranges::max_element(report.metrics, {}, badness);
  return found == report.metrics.end() ? nullptr : &*found;
}

std::string counts(const GateReport& report) {
  std::string text;
  for (const Verdict verdict : {Verdict::regressed, Verdict::improved, Verdict::inconclusive}) {
    if (count_of(report.metrics, verdict) == 0) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", count_of(report.metrics, verdict), verdict_name(verdict));
  }
  if (report.metrics.empty()) return "nothing was measured";
  if (text.empty()) return fmt::format("none of {} regressed", report.metrics.size());
  return fmt::format("{} of {}", text, report.metrics.size());
}

/// " · 16 rounds · 1 × EPYC, 2 cores · A/A test passed"; omits the machine if there is not enough
/// room.
std::string tail_of(const GateReport& report, std::size_t room_of_machine) {
  std::string tail;
  if (report.margin_of_noise) tail = fmt::format(" · margin {:.3g} %", report.margin * 100);
  tail += fmt::format(" · {} round{}", report.rounds, report.rounds == 1 ? "" : "s");
  const std::string machine = shortened(escape_for_terminal(report.machine), room_of_machine);
  if (!machine.empty() && (room_of_machine >= least_of_machine || machine == report.machine)) {
    tail += fmt::format(" · {}", machine);
  }
  return tail + fmt::format(" · A/A test {}", aa_test_result(report.canary));
}

}  // namespace

std::string_view gate_method_name(GateMethod method) {
  return method == GateMethod::signed_rank ? "signed rank" : "sign test";
}

std::string_view gate_canary_name(GateCanary canary) {
  switch (canary) {
    case GateCanary::not_run:
      return "not run";
    case GateCanary::quiet:
      return "quiet";
    case GateCanary::alarmed:
      return "alarmed";
  }
  return "";
}

std::string_view aa_test_result(GateCanary canary) {
  switch (canary) {
    case GateCanary::not_run:
      return "not made";
    case GateCanary::quiet:
      return "passed";
    case GateCanary::alarmed:
      return "failed";
  }
  return "";
}

double least_margin(const GateReport& report) {
  return report.margin_of_noise ? std::min(least_auto_margin, report.margin) : report.margin;
}

bool is_time_of_command(const GateMetric& metric) {
  return metric.key == "command" && metric.series == "wall";
}

std::string metric_name(const GateMetric& metric) {
  if (is_time_of_command(metric)) return "time of the command";
  return metric.series.empty() || metric.series == "time" ? metric.key
                                                          : metric.key + ": " + metric.series;
}

std::string gate_headline(const GateReport& report) {
  std::string head = counts(report);
  if (!report.missing.empty()) {
    head += fmt::format(", {} not measured", report.missing.size());
  }
  const GateMetric* metric = worst(report);
  if (metric == nullptr) return head + tail_of(report, most_of_machine);
  head += " · worst ";
  const std::string name = escape_for_terminal(metric_name(*metric));
  const std::string effect =
      fmt::format(" {} %{}", percent_change(metric->ratio), interval(*metric));
  const std::size_t used = characters(head + effect + tail_of(report, 0) + " · ");
  const std::size_t wanted = used + std::min(characters(name), least_of_name);
  const std::size_t room_of_machine = wanted < longest_headline ? longest_headline - wanted : 0;
  const std::string end = effect + tail_of(report, std::min(room_of_machine, most_of_machine));
  const std::size_t beside = characters(head + end);
  const std::size_t room = beside < longest_headline ? longest_headline - beside : 0;
  return shortened(head + shortened(name, room) + end, longest_headline);
}

bool is_trusted(const GateReport& report) {
  return !report.invalid && !report.unsteady && report.canary != GateCanary::alarmed;
}

}  // namespace dlscale::regression
