#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/numbers.hpp"
#include "regression/gate/gate_outlook.hpp"
#include "report/sections/gate_sections.hpp"
#include "report/table/interval.hpp"

namespace dlscale::report {
namespace {

using regression::GateCanary;
using regression::GateMetric;
using regression::GateReport;
using regression::GateSide;
using regression::Verdict;

long long count_of(const GateReport& gate, Verdict verdict) {
  return std::ranges::count(gate.metrics, verdict, &GateMetric::verdict);
}

/// The metric of that verdict that changed most; nullptr if there is none.
const GateMetric* largest(const GateReport& gate, Verdict verdict) {
  const GateMetric* found = nullptr;
  for (const GateMetric& metric : gate.metrics) {
    if (metric.verdict != verdict || !(metric.ratio > 0)) continue;
    const auto size = [](const GateMetric& each) { return std::abs(std::log(each.ratio)); };
    if (found == nullptr || size(metric) > size(*found)) found = &metric;
  }
  return found;
}

/// "conv batch=1 by +6.0 % (interval +4.9 % to +7.1 %)"; without the name if there is one metric.
std::string change_of(const GateReport& gate, const GateMetric& metric) {
  return fmt::format(
      "{}by {} (interval {})", gate.metrics.size() == 1 ? "" : metric_name(metric) + " ",
      signed_percent(metric.ratio - 1), changes_from_to(metric.ratio_low, metric.ratio_high));
}

std::string all_metrics(const GateReport& gate) {
  return counted(std::ssize(gate.metrics), "metric");
}

/// "2 of 4 metrics regressed, most of all conv by +6.0 % (interval +4.9 % to +7.1 %)".
std::string moved(const GateReport& gate, Verdict verdict) {
  const std::string change = change_of(gate, *largest(gate, verdict));
  const std::string_view word = verdict_name(verdict);
  if (gate.metrics.size() == 1) {
    return fmt::format("{} {} {}", metric_name(gate.metrics.front()), word, change);
  }
  const long long count = count_of(gate, verdict);
  return fmt::format("{} of {} {}{} {}", count, all_metrics(gate), word,
                     count == 1 ? ":" : ", most of all", change);
}

/// Why the session is not reliable.
std::string doubt_of(const GateReport& gate) {
  if (gate.invalid) return gate.notes.empty() ? "its rounds do not compare" : gate.notes.front();
  if (gate.canary == GateCanary::alarmed) return "the base differs from itself (A/A test)";
  return fmt::format("the machine was unsteady in {}", counted(gate.set_aside, "round"));
}

/// The verdict where some metric may have regressed and none has for sure.
std::string open_verdict(const GateReport& gate) {
  const std::string margin = percent(least_margin(gate));
  if (gate.metrics.size() == 1) {
    const GateMetric& metric = gate.metrics.front();
    return fmt::format("Not known yet: {} changed by {}, and {} or more would be a regression.",
                       metric_name(metric), changes_from_to(metric.ratio_low, metric.ratio_high),
                       margin);
  }
  return fmt::format(
      "Not known yet: none of {} has regressed for sure, but {} may have, by {} or "
      "more.",
      all_metrics(gate), count_of(gate, Verdict::inconclusive), margin);
}

std::string verdict_of(const GateReport& gate) {
  if (!is_trusted(gate)) return fmt::format("Not known: {}.", doubt_of(gate));
  if (gate.metrics.empty()) return "Not known: nothing was measured in common.";
  if (count_of(gate, Verdict::regressed) > 0) {
    return fmt::format("Yes: {}.", moved(gate, Verdict::regressed));
  }
  if (count_of(gate, Verdict::inconclusive) > 0) return open_verdict(gate);
  if (count_of(gate, Verdict::improved) > 0) {
    return fmt::format("No: nothing regressed, and {}.", moved(gate, Verdict::improved));
  }
  return fmt::format("No: none of {} regressed by {} or more.", all_metrics(gate),
                     percent(least_margin(gate)));
}

Tone tone_of_gate(const GateReport& gate) {
  if (!is_trusted(gate) || gate.verdict == Verdict::inconclusive) return Tone::caution;
  return gate.verdict == Verdict::regressed ? Tone::bad : Tone::good;
}

Tile count_tile(const GateReport& gate, const char* name, Verdict verdict, Tone tone) {
  const long long count = count_of(gate, verdict);
  const GateMetric* most = largest(gate, verdict);
  return {name, fmt::format("{} of {}", count, gate.metrics.size()),
          most == nullptr ? "" : change_of(gate, *most), count > 0 ? tone : Tone::plain};
}

std::vector<Tile> tiles_of(const GateReport& gate) {
  std::vector<Tile> tiles{
      count_tile(gate, "Regressed metrics", Verdict::regressed, Tone::bad),
      count_tile(gate, "Improved metrics", Verdict::improved, Tone::good),
      count_tile(gate, "Inconclusive metrics", Verdict::inconclusive, Tone::caution)};
  tiles.push_back({"Rounds", std::to_string(gate.rounds),
                   gate.set_aside > 0 ? fmt::format("{} set aside", gate.set_aside) : "",
                   Tone::plain});
  if (const auto smallest = smallest_changes(gate)) {
    const std::string least = percent(smallest->median);
    const std::string most = percent(smallest->most);
    tiles.push_back(
        {"Smallest change that it shows", least,
         fmt::format("in 8 of 10 cases after {}{}", counted(gate.looks.back().rounds, "round"),
                     least == most ? "" : fmt::format("; {} by the noisiest metric", most)),
         Tone::plain});
  }
  return tiles;
}

Badge data_of(const GateReport& gate) {
  if (!is_trusted(gate)) return doubtful_data(doubt_of(gate) + ".");
  constexpr std::string_view passed = "the base agrees with itself (A/A test)";
  const std::string rounds = counted(gate.rounds, "interleaved round");
  if (gate.canary == GateCanary::not_run) {
    return usable_data(rounds + "; without an A/A test, which compares the base with itself.");
  }
  if (gate.set_aside > 0) {
    return usable_data(fmt::format("{}, {} set aside; {}.", rounds, gate.set_aside, passed));
  }
  return good_data(fmt::format("{}; {}.", rounds, passed));
}

std::string side_name(const GateSide& side, const char* otherwise) {
  return side.commit.empty() ? otherwise : side.commit.substr(0, 12);
}

}  // namespace

Page gate_page(const GateReport& gate) {
  Page page;
  page.kind = "gate";
  page.question = fmt::format("Is {} slower than {}?", side_name(gate.changed, "the new version"),
                              side_name(gate.base, "the base"));
  page.verdict = verdict_of(gate);
  page.tone = tone_of_gate(gate);
  page.tiles = tiles_of(gate);
  page.picture = "forest";
  page.data = data_of(gate);
  page.data_section = "quality";
  page.sections = gate_sections(gate);
  page.figures = gate_figures(gate);
  return page;
}

}  // namespace dlscale::report
