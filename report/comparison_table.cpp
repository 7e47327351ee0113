#include "report/comparison_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/quantity_text.hpp"
#include "report/axes.hpp"
#include "report/json/json.hpp"
#include "report/numbers.hpp"
#include "report/record_columns.hpp"
#include "report/verdict_tone.hpp"

namespace dlscale::report {
namespace {

/// How much a row asks for attention; smaller comes first.
int urgency(Verdict verdict) {
  constexpr std::array<Verdict, 5> order{Verdict::wrong, Verdict::regressed, Verdict::improved,
                                         Verdict::inconclusive, Verdict::unchanged};
  return static_cast<int>(std::ranges::find(order, verdict) - order.begin());
}

std::vector<Comparison> sorted(std::vector<Comparison> rows) {
  std::ranges::stable_sort(rows, {}, [](const Comparison& row) { return urgency(row.verdict); });
  return rows;
}

/// What tells a row from the others: "conv layer=conv1, pass=forward".
std::string row_name(const Comparison& row, const std::vector<std::string>& varying) {
  std::string name = row.benchmark;
  for (const std::string& axis : varying) {
    const std::string value = axis_or_empty(row.axes, axis);
    if (!value.empty())
      name += fmt::format("{}{}={}", name == row.benchmark ? " " : ", ", axis, value);
  }
  return name;
}

std::vector<Cell> row_cells(const Comparison& row, const std::vector<std::string>& varying) {
  const std::string word(verdict_name(row.verdict));
  return {{row_name(row, varying)},
          {row.role == Role::judged ? row.series : row.series + " (detail)"},
          {to_text(Seconds(row.a))},
          {to_text(Seconds(row.b))},
          {signed_percent(row.ratio - 1)},
          {fmt::format("{} to {}", signed_percent(row.ratio_low - 1),
                       signed_percent(row.ratio_high - 1))},
          {word, tone_of(row.verdict)},
          {row.method}};
}

Table rows_table(const ComparisonReport& report) {
  Table table;
  std::vector<Axes> axes;
  for (const Comparison& row : report.rows) axes.push_back(row.axes);
  const std::string constants = constant_axes(axes);
  const std::vector<std::string> varying = varying_axes(axes);
  table.title = "B against A" + (constants.empty() ? "" : ": " + constants);
  table.columns = {{"measurement", Align::left},
                   {"series", Align::left},
                   {"A"},
                   {"B"},
                   {"change"},
                   {"95 % interval"},
                   {"verdict", Align::left},
                   {"from", Align::left}};
  for (const Comparison& row : sorted(report.rows)) {
    table.rows.push_back(row_cells(row, varying));
  }
  table.notes = {
      fmt::format("changes within {} do not matter; less time is better", percent(report.margin)),
      "an interval from samples of one launch does not know how launches differ: "
      "measure 5 repeats of both"};
  if (report.rows.size() >= 20) {
    table.notes.push_back(
        fmt::format("{} intervals of 95 %: about {} miss the true ratio by chance; the verdicts of "
                    "rows that are "
                    "no details allow for that (Benjamini-Hochberg, q = 5 %)",
                    report.rows.size(), (report.rows.size() + 10) / 20));
  }
  return table;
}

void append_list(std::vector<Table>& tables, const std::string& title,
                 const std::vector<std::string>& lines) {
  if (!lines.empty()) tables.push_back({title, {}, {}, lines});
}

std::vector<std::string> not_compared_lines(const ComparisonReport& report, Verdict verdict) {
  std::vector<std::string> lines;
  for (const NotCompared& each : report.not_compared) {
    if (each.verdict == verdict) lines.push_back(each.key + ": " + each.why);
  }
  return lines;
}

std::string named_cause(const PredictedCause& cause) {
  return fmt::format("{} {}{}", signed_percent(cause.share), cause.part,
                     cause.moved.empty() ? "" : fmt::format(" ({})", cause.moved));
}

/// What the model says of why, of causes that change the iteration by a thousandth or more.
std::string predicted_sentence(const PredictedChange& predicted) {
  constexpr double least = 1e-3;
  std::string text =
      fmt::format("by the model, machine to machine {}", signed_percent(predicted.change));
  const char* separator = ": ";
  for (const PredictedCause& cause : predicted.causes) {
    if (std::abs(cause.share) < least) continue;
    text += separator + named_cause(cause);
    separator = ", ";
  }
  if (std::abs(predicted.together) >= least) {
    text += fmt::format("{}{} together", separator, signed_percent(predicted.together));
  }
  return text;
}

/// A column a part, a row a training: rows add up.
Table attribution_table(const ComparisonReport& report) {
  Table table;
  std::vector<Axes> axes;
  for (const Attribution& row : report.attributions) axes.push_back(row.axes);
  const std::vector<std::string> varying = varying_axes(axes);
  table.title = "Where iterations changed, in shares of A's";
  table.columns = {{"training", Align::left}, {"iteration"}, {"95 % interval"}};
  for (const AttributedPart& part : report.attributions.front().parts) {
    table.columns.push_back({part.word});
  }
  for (const Attribution& row : report.attributions) {
    std::string name;
    for (const std::string& axis : varying) {
      name += fmt::format("{}{}={}", name.empty() ? "" : ", ", axis, axis_or_empty(row.axes, axis));
    }
    if (name.empty()) name = "e2e";
    table.rows.push_back({{name},
                          {signed_percent(row.change)},
                          {fmt::format("{} to {}", signed_percent(row.change_low),
                                       signed_percent(row.change_high))}});
    for (const AttributedPart& part : row.parts) {
      table.rows.back().push_back({signed_percent(part.share)});
    }
    table.notes.push_back(fmt::format("{}: {}", name, attribution_sentence(row)));
    if (row.predicted) {
      table.notes.push_back(fmt::format("{}: {}", name, predicted_sentence(*row.predicted)));
    }
  }
  return table;
}

long long count(const ComparisonReport& report, Verdict verdict) {
  return std::ranges::count_if(report.rows, [verdict](const Comparison& row) {
    return row.role == Role::judged && row.verdict == verdict;
  });
}

/// What the counts of rows leave out; empty where they are all.
std::string left_out(const ComparisonReport& report) {
  std::string text;
  const auto add = [&text](std::size_t number, const char* what) {
    if (number > 0) text += fmt::format(", {} {}", number, what);
  };
  const std::size_t wrong = not_compared_lines(report, Verdict::wrong).size();
  add(wrong, "wrong in B");
  add(report.not_compared.size() - wrong, "not compared");
  add(report.missing.size(), "not measured in B");
  return text;
}

long long held(const ComparisonReport& report, Comparison::Held why) {
  return std::ranges::count_if(report.rows, [why](const Comparison& row) {
    return row.role == Role::judged && row.held == why;
  });
}

/// Why rows whose intervals have a verdict have none.
std::string held_back(const ComparisonReport& report) {
  std::string text;
  if (const long long rows = held(report, Comparison::Held::by_family); rows > 0) {
    text += fmt::format(". {} may differ by chance among so many: measure more repeats",
                        counted(rows, "row"));
  }
  if (!report.place_differences.empty()) {
    text += fmt::format(
        ". A and B were measured at different places ({}), which says nothing of versions: "
        "--across-machines judges them all the same",
        fmt::join(report.place_differences, "; "));
  }
  return text;
}

/// How far the verdict can be trusted: it takes one row of many to make it "regressed".
std::string trust(const ComparisonReport& report) {
  long long rows = 0;
  long long single = 0;
  for (const Comparison& row : report.rows) {
    if (row.role != Role::judged) continue;
    ++rows;
    single += row.launches == 1 ? 1 : 0;
  }
  // A comment cuts its headline at the end: what was not measured comes before what may be chance.
  std::string text =
      fmt::format(" of {}", counted(rows, "row")) + left_out(report) + held_back(report);
  if (single > 0) {
    text += fmt::format(
        ". {} on one launch of a side, whose intervals are too narrow: repeat "
        "before you trust a change",
        single == 1 ? "1 row rests" : fmt::format("{} rows rest", single));
  }
  return text;
}

std::string lead(const ComparisonReport& report) {
  return fmt::format("{}: {} regressed, {} improved, {} unchanged, {} inconclusive{}",
                     verdict_name(report.verdict), count(report, Verdict::regressed),
                     count(report, Verdict::improved), count(report, Verdict::unchanged),
                     count(report, Verdict::inconclusive), trust(report));
}

Table records(const ComparisonReport& report) {
  Table table;
  add_columns(table.columns, Meaning::key, {"key", "series"});
  add_columns(table.columns, Meaning::value, {"a_s", "b_s", "ratio", "ratio_low", "ratio_high"});
  add_columns(table.columns, Meaning::state, {"verdict"});
  Column& verdict = table.columns.back();
  for (const Verdict each : {Verdict::improved, Verdict::unchanged, Verdict::regressed,
                             Verdict::inconclusive, Verdict::wrong}) {
    verdict.states.emplace_back(verdict_name(each));
  }
  verdict.states.emplace_back("not measured");
  add_columns(table.columns, Meaning::key, {"role"});
  add_columns(table.columns, Meaning::remark, {"method"});
  for (const Comparison& row : report.rows) {
    table.rows.push_back({{row.key},
                          {row.series},
                          {exact(row.a)},
                          {exact(row.b)},
                          {exact(row.ratio)},
                          {exact(row.ratio_low)},
                          {exact(row.ratio_high)},
                          {std::string(verdict_name(row.verdict))},
                          {row.role == Role::judged ? "judged" : "detail"},
                          {row.method}});
  }
  for (const NotCompared& each : report.not_compared) {
    table.rows.push_back({{each.key},
                          {},
                          {},
                          {},
                          {},
                          {},
                          {},
                          {std::string(verdict_name(each.verdict))},
                          {"judged"},
                          {each.why}});
  }
  for (const std::string& name : report.missing) {
    table.rows.push_back({{name},
                          {},
                          {},
                          {},
                          {},
                          {},
                          {},
                          {"not measured"},
                          {"judged"},
                          {"A measured it, B did not"}});
  }
  return table;
}

}  // namespace

Document comparison_document(const ComparisonReport& report) {
  Document document;
  document.lead = lead(report);
  append_list(document.tables, "Wrong answers in B", not_compared_lines(report, Verdict::wrong));
  if (!report.rows.empty()) document.tables.push_back(rows_table(report));
  if (!report.attributions.empty()) document.tables.push_back(attribution_table(report));
  append_list(document.tables, "Not compared", not_compared_lines(report, Verdict::inconclusive));
  append_list(document.tables, "Only in A", report.only_a);
  append_list(document.tables, "Only in B", report.only_b);
  append_list(document.tables, "Environments differ (A | B)", report.environment_differences);
  document.records = records(report);
  document.json = comparison_json(report);
  return document;
}

}  // namespace dlscale::report
