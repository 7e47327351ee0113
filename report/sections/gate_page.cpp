#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/numbers.hpp"
#include "regression/gate/gate_outlook.hpp"
#include "report/sections/gate_sections.hpp"

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

/// "+6.0 % (interval +4.9 % to +7.1 %)".
std::string size_of(const GateMetric& metric) {
  const auto end = [](const std::optional<double>& ratio) {
    return ratio ? signed_percent(*ratio - 1) : std::string("unknown");
  };
  return fmt::format("{} (interval {} to {})", signed_percent(metric.ratio - 1),
                     end(metric.ratio_low), end(metric.ratio_high));
}

/// "conv batch=1 by +6.0 % (interval +4.9 % to +7.1 %)".
std::string change_of(const GateMetric& metric) {
  return fmt::format("{} by {}", metric_name(metric), size_of(metric));
}

std::string all_metrics(const GateReport& gate) {
  return counted(std::ssize(gate.metrics), "metric");
}

/// Why the session is not reliable.
std::string doubt_of(const GateReport& gate) {
  if (gate.invalid) return gate.notes.empty() ? "its rounds do not compare" : gate.notes.front();
  if (gate.canary == GateCanary::alarmed) return "the base differs from itself in the A/A test";
  return fmt::format("the machine was unsteady in {}", counted(gate.set_aside, "round"));
}

std::string verdict_of(const GateReport& gate) {
  if (!is_trusted(gate)) return fmt::format("Not known: {}.", doubt_of(gate));
  const long long worse = count_of(gate, Verdict::regressed);
  const long long better = count_of(gate, Verdict::improved);
  const long long open = count_of(gate, Verdict::inconclusive);
  const std::string margin = percent(least_margin(gate));
  if (worse > 0) {
    return fmt::format("Yes: {} of {} regressed, most of all {}.", worse, all_metrics(gate),
                       change_of(*largest(gate, Verdict::regressed)));
  }
  if (gate.metrics.empty()) return "Not known: nothing was measured in common.";
  if (open > 0) {
    return fmt::format(
        "Not known yet: {} of {} could still have regressed by {} or more; none has.", open,
        all_metrics(gate), margin);
  }
  if (better > 0) {
    return fmt::format("No: none of {} regressed, and {} improved, most of all {}.",
                       all_metrics(gate), better, change_of(*largest(gate, Verdict::improved)));
  }
  return fmt::format("No: none of {} regressed by {} or more.", all_metrics(gate), margin);
}

Tone tone_of_gate(const GateReport& gate) {
  if (!is_trusted(gate) || gate.verdict == Verdict::inconclusive) return Tone::caution;
  return gate.verdict == Verdict::regressed ? Tone::bad : Tone::good;
}

Tile count_tile(const GateReport& gate, const char* name, Verdict verdict, Tone tone) {
  const long long count = count_of(gate, verdict);
  const GateMetric* most = largest(gate, verdict);
  return {name, fmt::format("{} of {}", count, gate.metrics.size()),
          most == nullptr ? "" : change_of(*most), count > 0 ? tone : Tone::plain};
}

std::vector<Tile> tiles_of(const GateReport& gate) {
  std::vector<Tile> tiles{count_tile(gate, "Regressed", Verdict::regressed, Tone::bad),
                          count_tile(gate, "Improved", Verdict::improved, Tone::good),
                          count_tile(gate, "Inconclusive", Verdict::inconclusive, Tone::caution)};
  tiles.push_back({"Rounds", std::to_string(gate.rounds),
                   gate.set_aside > 0 ? fmt::format("{} set aside", gate.set_aside) : "",
                   Tone::plain});
  if (const std::string smallest = smallest_changes(gate); !smallest.empty()) {
    tiles.push_back({"Smallest change seen in 8 of 10 cases",
                     smallest.substr(0, smallest.find(" in the middle")), "of the middle metric",
                     Tone::plain});
  }
  return tiles;
}

Badge data_of(const GateReport& gate) {
  if (!is_trusted(gate)) return {Tone::bad, "Doubtful", doubt_of(gate) + "."};
  const std::string rounds = counted(gate.rounds, "interleaved round");
  if (gate.canary == GateCanary::not_run) {
    return {Tone::caution, "Usable", rounds + ", without an A/A test."};
  }
  if (gate.set_aside > 0) {
    return {Tone::caution, "Usable",
            fmt::format("{}, {} set aside; the A/A test is quiet.", rounds, gate.set_aside)};
  }
  return {Tone::good, "Good", rounds + ", and the A/A test is quiet."};
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
