#include "report/sections/gate_sections.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "regression/gate/gate_outlook.hpp"
#include "report/figure/comparison_figures.hpp"
#include "report/table/field_table.hpp"
#include "report/table/interval.hpp"

namespace dlscale::report {
namespace {

using regression::Direction;
using regression::direction_name;
using regression::gate_method_name;
using regression::GateLook;
using regression::GateMetric;
using regression::GateMissing;
using regression::GatePair;
using regression::GateReport;
using regression::GateSide;
using regression::GateSideName;
using regression::metric_name;
using regression::run_statistic_name;
using regression::RunStatistic;
using regression::Verdict;
using regression::verdict_name;

bool changed(const GateMetric& metric) {
  return metric.verdict == Verdict::regressed || metric.verdict == Verdict::improved;
}


/// "10 (α = 0.02)".
std::vector<std::string> look_texts(const GateReport& gate) {
  std::vector<std::string> looks;
  for (const GateLook& look : gate.looks) {
    looks.push_back(fmt::format("{} (α = {:g})", look.rounds, look.alpha));
  }
  return looks;
}

std::string rule_sentence(const GateReport& gate) {
  const std::string cleared =
      gate.margin_of_noise
          ? "not regressed is less than the margin of the metric, from the noise of its first "
            "rounds; "
          : "";
  return fmt::format(
      "changes within {} do not matter; {}+ is worse; each end of an interval is one-sided at 1 - "
      "α "
      "of its look; p is that of no such change, over all looks and metrics (Benjamini-Hochberg, q "
      "= {:g})",
      percent(least_margin(gate)), cleared, gate.q);
}

std::vector<GateMetric> by_size(const GateReport& gate,
                                const std::function<bool(const GateMetric&)>& wanted) {
  std::vector<GateMetric> metrics;
  std::ranges::copy_if(gate.metrics, std::back_inserter(metrics), wanted);
  std::ranges::stable_sort(metrics, std::greater{}, [](const GateMetric& metric) {
    return metric.ratio > 0 ? std::abs(std::log(metric.ratio)) : 0.0;
  });
  return metrics;
}

std::string gate_interval(const GateMetric& metric) {
  return changes_from_to(metric.ratio_low, metric.ratio_high);
}

/// Fields of a metric in the order of records.
Fields<GateMetric> metric_fields() {
  using F = Field<GateMetric>;
  using enum Meaning;
  const auto in_unit = [](double GateMetric::*which) {
    return
        [which](const GateMetric& metric) { return value_with_unit(metric.*which, metric.unit); };
  };
  const auto change = [](const GateMetric& metric) { return signed_percent(metric.ratio - 1); };
  const auto method = [](const GateMetric& metric) {
    if (metric.statistic == RunStatistic::single) {
      return std::string(gate_method_name(metric.method));
    }
    return fmt::format("{} of the {}", gate_method_name(metric.method),
                       run_statistic_name(metric.statistic));
  };
  const auto verdict_cell = [](const GateMetric& metric) {
    return Cell{std::string(verdict_name(metric.verdict)), tone_of(metric.verdict)};
  };
  F verdict("verdict", state, via(&GateMetric::verdict, verdict_name), "verdict", verdict_cell,
            Align::left);
  for (const Verdict each :
       {Verdict::regressed, Verdict::not_regressed, Verdict::improved, Verdict::inconclusive}) {
    verdict.states.emplace_back(verdict_name(each));
  }
  verdict.states.emplace_back("not measured");
  return {
      {"key", key, &GateMetric::key, "metric", metric_name, Align::left},
      {"series", key, &GateMetric::series},
      {"unit", key, &GateMetric::unit},
      {"direction", key, via(&GateMetric::direction, direction_name)},
      {"statistic", key, via(&GateMetric::statistic, run_statistic_name)},
      {"base", value_in_unit, &GateMetric::base, "base", in_unit(&GateMetric::base)},
      {"new", value_in_unit, &GateMetric::changed, "new", in_unit(&GateMetric::changed)},
      {"ratio", value, &GateMetric::ratio, "change (+ = worse)", change},
      {"ratio_low", value, &GateMetric::ratio_low, "interval", gate_interval},
      {"ratio_high", value, &GateMetric::ratio_high},
      {"margin", value, &GateMetric::margin, "margin", as::percent},
      {"p", value, &GateMetric::p},
      {"p_adjusted", value, &GateMetric::p_adjusted, "p (BH)", as::significant<2>},
      {"rounds", value, &GateMetric::rounds, "rounds", as::exact},
      {"method", remark, via(&GateMetric::method, gate_method_name), "method", method, Align::left},
      std::move(verdict),
      {"note", remark, &GateMetric::note, "remark", as::words}};
}

/// The fields for people; `more` follow the number of rounds.
Table metrics_table(const GateReport& gate, std::string title,
                    const std::vector<GateMetric>& metrics, const Fields<GateMetric>& more = {}) {
  const Fields<GateMetric> fields = metric_fields();
  const Fields<GateMetric> margin =
      gate.margin_of_noise ? picked(fields, {"margin"}) : Fields<GateMetric>{};
  const bool has_notes =
      std::ranges::any_of(metrics, [](const GateMetric& metric) { return !metric.note.empty(); });
  const Fields<GateMetric> notes =
      has_notes ? picked(fields, {"note"}) : Fields<GateMetric>{};
  Table table = table_of(
      joined<GateMetric>({picked(fields, {"key", "verdict", "base", "new", "ratio", "ratio_low"}),
                          margin, picked(fields, {"p_adjusted", "rounds"}), more,
                          picked(fields, {"method"}), notes}),
      metrics);
  table.title = std::move(title);
  return table;
}

Table metric_table(const GateReport& gate, std::string title, Verdict verdict,
                   const Fields<GateMetric>& more = {}) {
  const auto wanted = [verdict](const GateMetric& metric) { return metric.verdict == verdict; };
  return metrics_table(gate, std::move(title), by_size(gate, wanted), more);
}

/// Estimated further rounds, if further rounds can decide at all.
std::string more_rounds_text(const GateReport& gate, const GateMetric& metric) {
  const double least = least_margin(gate);
  if (const std::optional<int> more = more_rounds(metric, gate)) {
    return fmt::format("about {}", *more);
  }
  if (is_hidden_by_rounding(metric, least)) return "none help: print more digits";
  if (!metric.ratio_low || !metric.ratio_high) return "not known yet";
  if (metric.margin > least && *metric.ratio_low > 1) {
    return fmt::format("none clear it: slower by about {}", percent(least));
  }
  return "over 1000: too near to the margin";
}

/// Inconclusive metrics, with the rounds needed to decide them.
Table inconclusive_table(const GateReport& gate, std::string title) {
  Fields<GateMetric> more;
  if (is_trusted(gate)) {
    more.push_back(Field<GateMetric>::table(
        "more rounds needed",
        [&gate](const GateMetric& metric) { return more_rounds_text(gate, metric); }));
  }
  return metric_table(gate, std::move(title), Verdict::inconclusive, more);
}

Table not_regressed_table(const GateReport& gate) {
  return metric_table(gate, "Not regressed", Verdict::not_regressed);
}

Table changes_table(const GateReport& gate) {
  Table table =
      metrics_table(gate, "What changed, the largest change first", by_size(gate, changed));
  table.notes = {rule_sentence(gate)};
  return table;
}

/// Environment of the two versions, one row for each fact that differs.
Table version_differences(const GateReport& gate) {
  Table table;
  table.title = "What differs in where the versions ran";
  table.columns = {{"property", Align::left}, {"base", Align::left}, {"new", Align::left}};
  std::map<std::string, std::pair<std::string, std::string>> rows;
  for (const auto& [name, value] : gate.base.environment) rows[name].first = value;
  for (const auto& [name, value] : gate.changed.environment) rows[name].second = value;
  for (const auto& [name, values] : rows) {
    if (values.first != values.second) {
      table.rows.push_back({{name}, {values.first}, {values.second}});
    }
  }
  return table;
}

/// Steadiness of the machine, and the noise that hides changes.
std::vector<std::string> steadiness(const GateReport& gate) {
  std::vector<std::string> lines;
  if (const auto smallest = smallest_changes(gate)) {
    lines.push_back(
        fmt::format("The smallest change that would be called regressed in 8 of 10 gates of {}: "
                    "about {} by the median metric, {} by the noisiest.",
                    counted(smallest->rounds, "round"), percent(smallest->median),
                    percent(smallest->most)));
  }
  if (gate.load) {
    lines.push_back(
        fmt::format("Load before runs: {:.2f} to {:.2f}.", gate.load->first, gate.load->second));
  }
  if (gate.set_aside > 0) {
    lines.push_back(fmt::format("Set aside because the machine was slowed or held back: {}.",
                                counted(gate.set_aside, "round")));
  }
  return lines;
}

Section trust_section(const GateReport& gate) {
  Items items;
  items.lines.push_back(
      fmt::format("A/A test (the base against itself): {}.", aa_test_result(gate.canary)));
  for (std::string& line : steadiness(gate)) items.lines.push_back(std::move(line));
  items.lines.push_back(
      fmt::format("Machine: {}.", gate.machine.empty() ? "not said" : gate.machine));
  for (const std::string& note : gate.notes) items.lines.push_back(note);
  Section section{"quality", "Can it be trusted", {std::move(items)}};
  if (Table differences = version_differences(gate); !differences.rows.empty()) {
    section.blocks.emplace_back(std::move(differences));
  }
  if (!gate.canary_metrics.empty()) {
    section.blocks.emplace_back(
        Folded{metrics_table(gate, "The A/A test, metric by metric", gate.canary_metrics)});
  }
  return section;
}

std::string at_commit(const GateSide& side) {
  return side.commit.empty() ? std::string{} : fmt::format(" at {}", side.commit);
}

Section reproduce_section(const GateReport& gate) {
  Items items;
  items.lines = {
      fmt::format("base: {}{}", fmt::join(gate.base.command, " "), at_commit(gate.base)),
      fmt::format("new: {}{}", fmt::join(gate.changed.command, " "), at_commit(gate.changed)),
      fmt::format("seed of the order of versions: {}", gate.seed),
      fmt::format("looks after rounds {}", fmt::join(look_texts(gate), ", ")),
      fmt::format("margin {}, share of false discoveries {:g}", percent(gate.margin), gate.q),
      fmt::format("{} in {:.0f} s, the last on {}", counted(gate.rounds, "round"), gate.duration,
                  gate.date)};
  return {"reproduce", "How it was made", {std::move(items)}};
}

Table rounds_table(const GateReport& gate) {
  Table table;
  table.columns = {{"metric", Align::left}, {"round"}, {"first", Align::left}, {"base"}, {"new"},
                   {"new / base"}};
  for (const GateMetric& metric : gate.metrics) {
    for (const GatePair& pair : metric.pairs) {
      table.rows.push_back({{metric_name(metric)},
                            {std::to_string(pair.round)},
                            {pair.first == GateSideName::base ? "base" : "new"},
                            {value_with_unit(pair.base, metric.unit)},
                            {value_with_unit(pair.changed, metric.unit)},
                            {pair.base > 0 ? significant(pair.changed / pair.base, 5) : ""}});
    }
  }
  table.title =
      fmt::format("{} of all metrics", counted(static_cast<long long>(table.rows.size()), "pair"));
  return table;
}

/// Ratio of a round; above 1 is worse.
double worse_ratio(const GateMetric& metric, const GatePair& pair) {
  return metric.direction == Direction::larger_is_better ? pair.base / pair.changed
                                                         : pair.changed / pair.base;
}

Table gate_records(const GateReport& gate) {
  Table table = records_of(metric_fields(), gate.metrics);
  for (const GateMissing& each : gate.missing) {
    std::vector<Cell> row{{each.key}, {each.series}, {each.unit}};
    row.resize(table.columns.size() - 2);  // no numbers
    row.push_back({"not measured"});
    row.push_back({"the base measured it in every round, the new version did not"});
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

std::string value_with_unit(double value, const std::string& unit) {
  return unit == "s" ? to_text(Seconds(value)) : significant(value, 4) + " " + unit;
}

std::string level_of_interval(const GateReport& gate, const GateMetric& metric) {
  if (gate.looks.empty()) return "";
  const auto found = std::ranges::find(gate.looks, metric.rounds, &GateLook::rounds);
  const GateLook& look = found == gate.looks.end() ? gate.looks.front() : *found;
  return fmt::format("{:.3g} % ", 100 * (1 - 2 * look.alpha));
}

std::optional<SmallestChanges> smallest_changes(const GateReport& gate) {
  if (gate.looks.empty()) return {};
  const auto later = [&gate](const GateLook& look) { return look.rounds > gate.rounds; };
  const auto next = std::ranges::find_if(gate.looks, later);
  const GateLook& last = next == gate.looks.begin() ? *next : *std::prev(next);
  std::vector<double> values;
  for (const GateMetric& metric : gate.metrics) {
    const auto value = smallest_seen(metric, least_margin(gate), last);
    if (value) values.push_back(*value);
  }
  if (values.empty()) return {};
  std::ranges::sort(values);
  return SmallestChanges{values[values.size() / 2], values.back(), last.rounds};
}

Document gate_document(const GateReport& gate) {
  Document document;
  document.lead = gate_headline(gate);
  Table changes = changes_table(gate);
  changes.notes.clear();  // they are among all notes, also if nothing changed
  for (Table table :
       {std::move(changes), inconclusive_table(gate, "Inconclusive"), not_regressed_table(gate)}) {
    if (!table.rows.empty()) document.tables.push_back(std::move(table));
  }
  std::vector<std::string> notes = gate.notes;
  notes.push_back(rule_sentence(gate));
  notes.push_back(fmt::format("looks after rounds {}; seed {}; {} of processes, last round {}",
                              fmt::join(look_texts(gate), ", "), gate.seed,
                              to_text(Seconds(gate.duration)),
                              gate.date.empty() ? "none" : gate.date));
  document.tables.push_back({"Notes", {}, {}, std::move(notes)});
  document.records = gate_records(gate);
  document.labels = {{"machine", gate.machine}};
  document.json = JsonText("dlscale.gate", [gate] { return to_json(gate); });
  return document;
}

Figures gate_figures(const GateReport& gate) {
  std::vector<figure::ForestRow> rows;
  std::vector<figure::PairedRow> rounds;
  for (const GateMetric& metric : by_size(gate, [](const GateMetric&) { return true; })) {
    if (!(metric.ratio > 0) || metric.rounds == 0) continue;
    rows.push_back({metric_name(metric), metric.ratio, metric.ratio_low, metric.ratio_high,
                    std::string(verdict_name(metric.verdict)), metric.verdict == Verdict::regressed,
                    metric.verdict == Verdict::improved});
    if (!changed(metric)) continue;
    figure::PairedRow row{metric_name(metric), {}};
    for (const GatePair& pair : metric.pairs) {
      if (pair.base > 0 && pair.changed > 0) row.ratios.push_back(worse_ratio(metric, pair));
    }
    rounds.push_back(std::move(row));
  }
  std::set<std::string> levels;
  for (const GateMetric& metric : gate.metrics) levels.insert(level_of_interval(gate, metric));
  Figures figures;
  for (auto& each :
       {figure::forest(rows, gate.margin, fmt::format("{}interval", fmt::join(levels, "or "))),
        figure::paired(rounds, gate.margin)}) {
    if (each) figures.push_back(*each);
  }
  return figures;
}

std::vector<Section> gate_sections(const GateReport& gate) {
  Section changes{"changes", "What changed", {FigureSlot{"forest"}}};
  if (Table table = changes_table(gate); !table.rows.empty()) {
    changes.blocks.emplace_back(std::move(table));
  } else {
    const bool all_cleared =
        is_trusted(gate) && !gate.metrics.empty() &&
        std::ranges::all_of(gate.metrics, [](const GateMetric& metric) {
          return metric.verdict == Verdict::not_regressed;
        });
    changes.blocks.emplace_back(
        Paragraph{all_cleared ? "No metric regressed by its margin or more."
                              : "No metric is known to have changed by its margin or more."});
  }
  changes.blocks.emplace_back(FigureSlot{"paired"});
  const char* title = is_trusted(gate) ? "Inconclusive: more rounds would tell" : "Inconclusive";
  if (Table table = inconclusive_table(gate, title); !table.rows.empty()) {
    changes.blocks.emplace_back(std::move(table));
  }
  if (Table table = not_regressed_table(gate); !table.rows.empty()) {
    changes.blocks.emplace_back(Folded{std::move(table)});
  }
  return {std::move(changes),
          trust_section(gate),
          reproduce_section(gate),
          {"raw", "Everything measured", {RawRows{rounds_table(gate)}}}};
}

}  // namespace dlscale::report
