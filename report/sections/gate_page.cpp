#include <algorithm>
#include <array>
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

/// "96 % interval +4.9 % to +7.1 %".
std::string interval_of(const GateReport& gate, const GateMetric& metric) {
  return fmt::format("{}interval {}", level_of_interval(gate, metric),
                     changes_from_to(metric.ratio_low, metric.ratio_high));
}

/// "conv batch=1 by +6.0 % (96 % interval +4.9 % to +7.1 %)"; without the name if there is one
/// metric.
std::string change_of(const GateReport& gate, const GateMetric& metric) {
  return fmt::format("{}by {} ({})", gate.metrics.size() == 1 ? "" : metric_name(metric) + " ",
                     signed_percent(metric.ratio - 1), interval_of(gate, metric));
}

std::string all_metrics(const GateReport& gate) {
  return counted(std::ssize(gate.metrics), "metric");
}

/// "2 of 4 metrics regressed, most of all conv by +6.0 % (96 % interval +4.9 % to +7.1 %)".
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

/// "; the new version did not measure 3 metrics of the base", or nothing.
std::string missing_clause(const GateReport& gate) {
  if (gate.missing.empty()) return "";
  return fmt::format("; the new version did not measure {} of the base",
                     counted(std::ssize(gate.missing), "metric"));
}

/// The verdict where some metric may have regressed and none has for sure.
std::string open_verdict(const GateReport& gate) {
  const std::string margin = percent(least_margin(gate));
  const std::string missing = missing_clause(gate);
  if (gate.metrics.size() == 1) {
    const GateMetric& metric = gate.metrics.front();
    const std::string interval = metric.ratio_low || metric.ratio_high
                                     ? interval_of(gate, metric)
                                     : "too few rounds for an interval";
    return fmt::format(
        "Not known yet: {} changed by {} ({}), and {} or more would be a regression{}.",
        metric_name(metric), signed_percent(metric.ratio - 1), interval, margin, missing);
  }
  return fmt::format(
      "Not known yet: none of {} has regressed for sure, but {} may have, by {} or "
      "more{}.",
      all_metrics(gate), count_of(gate, Verdict::inconclusive), margin, missing);
}

/// "2.0 %", or "1.0 % to 8.0 %": the margins that the metrics were cleared of.
std::string cleared_margins(const GateReport& gate) {
  const auto [least, most] = std::ranges::minmax(gate.metrics, {}, &GateMetric::margin);
  const std::string low = percent(least.margin);
  const std::string high = percent(most.margin);
  return low == high ? high : fmt::format("its margin ({} to {})", low, high);
}


/// The verdict where no metric may have regressed.
std::string cleared_verdict(const GateReport& gate) {
  const std::string missing = missing_clause(gate);
  if (count_of(gate, Verdict::improved) > 0) {
    return fmt::format("No: nothing regressed, and {}{}.", moved(gate, Verdict::improved), missing);
  }
  const std::string margins = cleared_margins(gate);
  if (gate.metrics.size() > 1) {
    return fmt::format("No: none of {} regressed by {} or more{}.", all_metrics(gate), margins,
                       missing);
  }
  const GateMetric& metric = gate.metrics.front();
  return fmt::format("No: {} did not regress by {} or more ({}){}.", metric_name(metric), margins,
                     interval_of(gate, metric), missing);
}

std::string verdict_of(const GateReport& gate) {
  if (!is_trusted(gate)) return fmt::format("Not known: {}.", doubt_of(gate));
  if (gate.metrics.empty()) return "Not known: nothing was measured in common.";
  if (count_of(gate, Verdict::regressed) > 0) {
    return fmt::format("Yes: {}{}.", moved(gate, Verdict::regressed), missing_clause(gate));
  }
  if (count_of(gate, Verdict::inconclusive) > 0) return open_verdict(gate);
  return cleared_verdict(gate);
}

Tone tone_of_gate(const GateReport& gate) {
  if (!is_trusted(gate) || gate.verdict == Verdict::inconclusive) return Tone::caution;
  if (gate.verdict == Verdict::regressed) return Tone::bad;
  return gate.missing.empty() ? Tone::good : Tone::caution;
}

Tone tone_of_change(const GateMetric& metric) {
  switch (metric.verdict) {
    case Verdict::regressed:
      return Tone::bad;
    case Verdict::improved:
      return Tone::good;
    case Verdict::inconclusive:
      return Tone::caution;
    default:
      return Tone::plain;
  }
}

/// The only metric in both versions, and its change.
std::vector<Tile> tiles_of_one(const GateReport& gate, const GateMetric& metric) {
  const std::string detail =
      metric_name(metric) + ", middle of " + counted(metric.rounds, "round");
  return {{"Base", value_with_unit(metric.base, metric.unit), detail, Tone::plain},
          {"New", value_with_unit(metric.changed, metric.unit), detail, Tone::plain},
          {"Change (+ is worse)", signed_percent(metric.ratio - 1), interval_of(gate, metric),
           tone_of_change(metric)}};
}

/// How many metrics have a verdict, of those that some metric has; regressions always.
std::vector<Tile> count_tiles(const GateReport& gate) {
  struct Kind {
    const char* name;
    Verdict verdict;
  };
  constexpr std::array kinds{Kind{"Regressed metrics", Verdict::regressed},
                             Kind{"Improved metrics", Verdict::improved},
                             Kind{"Inconclusive metrics", Verdict::inconclusive}};
  std::vector<Tile> tiles;
  for (const auto& [name, verdict] : kinds) {
    const GateMetric* most = largest(gate, verdict);
    const long long count = count_of(gate, verdict);
    if (count == 0 && verdict != Verdict::regressed) continue;
    tiles.push_back({name, fmt::format("{} of {}", count, gate.metrics.size()),
                     most == nullptr ? "" : change_of(gate, *most),
                     most == nullptr ? Tone::plain : tone_of_change(*most)});
  }
  return tiles;
}

/// Rounds that were made, of how many the gate may take.
Tile rounds_tile(const GateReport& gate) {
  std::string detail;
  if (!gate.looks.empty() && gate.rounds < gate.looks.back().rounds) {
    detail = fmt::format("of at most {}", gate.looks.back().rounds);
  }
  if (gate.set_aside > 0) {
    detail += fmt::format("{}{} set aside", detail.empty() ? "" : "; ", gate.set_aside);
  }
  return {"Rounds", std::to_string(gate.rounds), std::move(detail), Tone::plain};
}

std::vector<Tile> tiles_of(const GateReport& gate) {
  std::vector<Tile> tiles = gate.metrics.size() == 1 ? tiles_of_one(gate, gate.metrics.front())
                                                     : count_tiles(gate);
  if (!gate.missing.empty()) {
    tiles.push_back({"Not measured in the new version", std::to_string(gate.missing.size()),
                     "metrics that the base has", Tone::caution});
  }
  if (const auto smallest = smallest_changes(gate)) {
    const std::string least = percent(smallest->median);
    const std::string most = percent(smallest->most);
    tiles.push_back(
        {"Smallest change it shows", most,
         fmt::format("{}in 8 of 10 cases, by {}",
                     least == most ? ""
                                   : fmt::format("in the noisiest metric, {} in the median one, ",
                                                 least),
                     counted(smallest->rounds, "round")),
         Tone::plain});
  }
  tiles.push_back(rounds_tile(gate));
  if (!is_trusted(gate)) {
    for (Tile& tile : tiles) tile.tone = Tone::plain;  // no verdict holds
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
