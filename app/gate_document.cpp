#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gate_verdict.hpp"
#include "core/quantity_text.hpp"
#include "report/numbers.hpp"

namespace dlscale::app {
namespace {

using report::Align;
using report::Cell;
using report::GateMetric;
using report::GateReport;
using report::GateVerdict;
using report::Table;
using report::Tone;

Tone tone_of(GateVerdict verdict) {
  switch (verdict) {
    case GateVerdict::regressed:
      return Tone::bad;
    case GateVerdict::improved:
      return Tone::good;
    case GateVerdict::inconclusive:
      return Tone::caution;
    case GateVerdict::not_regressed:
      return Tone::plain;
  }
  return Tone::plain;
}

std::string value_text(double value, const std::string& unit) {
  return unit == "s" ? to_text(Seconds(value)) : report::significant(value, 4) + " " + unit;
}

std::string interval_text(const GateMetric& metric) {
  if (!metric.ratio_low || !metric.ratio_high) return "too few rounds";
  return fmt::format("{} to {}", report::signed_percent(*metric.ratio_low - 1),
                     report::signed_percent(*metric.ratio_high - 1));
}

std::string p_text(double p) {
  return p < 0.001 ? report::scientific(p) : fmt::format("{:.3f}", p);
}

std::vector<Cell> cells(const GateMetric& metric) {
  return {{metric.key},
          {metric.series},
          {value_text(metric.base, metric.unit)},
          {value_text(metric.changed, metric.unit)},
          {report::signed_percent(metric.ratio - 1)},
          {interval_text(metric)},
          {p_text(metric.p_adjusted)},
          {std::to_string(metric.rounds)},
          {std::string(gate_verdict_name(metric.verdict)), tone_of(metric.verdict)},
          {fmt::format("{} of the {}", gate_method_name(metric.method),
                       run_statistic_name(metric.statistic)) +
           (metric.note.empty() ? "" : "; " + metric.note)}};
}

Table table_of(const std::string& title, std::vector<GateMetric> metrics) {
  std::ranges::stable_sort(metrics, std::ranges::greater(), [](const GateMetric& metric) {
    return std::abs(std::log(metric.ratio));
  });
  Table table;
  table.title = title;
  table.columns = {{"measurement", Align::left},
                   {"series", Align::left},
                   {"base"},
                   {"changed"},
                   {"change (+ = worse)"},
                   {"bounds"},
                   {"p (adjusted)"},
                   {"rounds"},
                   {"verdict", Align::left},
                   {"from", Align::left}};
  for (const GateMetric& metric : metrics) table.rows.push_back(cells(metric));
  return table;
}

std::string alphas(const GateReport& report) {
  std::string text;
  for (const report::GateLook& look : report.looks) {
    text += fmt::format("{}{} rounds {}", text.empty() ? "" : ", ", look.rounds, look.alpha);
  }
  return text;
}

std::vector<std::string> notes(const GateReport& report) {
  std::vector<std::string> lines = report.notes;
  lines.push_back(fmt::format(
      "changes within {} do not matter; each bound is one-sided at 1 - alpha of its look "
      "(alpha after {}); p: that it is no worse, Benjamini-Hochberg at q = {}",
      report::percent(report.margin), alphas(report), report.q));
  lines.push_back(fmt::format("seed {}, {} of processes, last round {}", report.seed,
                              to_text(Seconds(report.duration)),
                              report.date.empty() ? "none" : report.date));
  return lines;
}

Table records(const GateReport& report) {
  Table table;
  table.columns = {{"key"},  {"series"},     {"unit"},   {"direction"}, {"statistic"},
                   {"base"}, {"changed"},    {"ratio"},  {"ratio_low"}, {"ratio_high"},
                   {"p"},    {"p_adjusted"}, {"rounds"}, {"method"},    {"verdict"}};
  const auto maybe = [](const std::optional<double>& value) {
    return value ? report::exact(*value) : std::string();
  };
  for (const GateMetric& metric : report.metrics) {
    table.rows.push_back({{metric.key},
                          {metric.series},
                          {metric.unit},
                          {std::string(direction_name(metric.direction))},
                          {std::string(run_statistic_name(metric.statistic))},
                          {report::exact(metric.base)},
                          {report::exact(metric.changed)},
                          {report::exact(metric.ratio)},
                          {maybe(metric.ratio_low)},
                          {maybe(metric.ratio_high)},
                          {report::exact(metric.p)},
                          {report::exact(metric.p_adjusted)},
                          {std::to_string(metric.rounds)},
                          {std::string(gate_method_name(metric.method))},
                          {std::string(gate_verdict_name(metric.verdict))}});
  }
  return table;
}

}  // namespace

report::Document gate_document(const GateReport& report) {
  std::vector<GateMetric> news;
  std::vector<GateMetric> others;
  for (const GateMetric& metric : report.metrics) {
    (metric.verdict == GateVerdict::not_regressed ? others : news).push_back(metric);
  }
  report::Document document;
  document.lead = gate_headline(report);
  if (!news.empty()) document.tables.push_back(table_of("Changed, or not known", news));
  if (!others.empty()) document.tables.push_back(table_of("Not regressed", others));
  document.tables.push_back({"Notes", {}, {}, notes(report)});
  document.records = records(report);
  document.json = to_json(report);
  return document;
}

}  // namespace dlscale::app
