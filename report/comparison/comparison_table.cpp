#include "report/comparison/comparison_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/comparison/common_change.hpp"
#include "report/comparison/row_words.hpp"
#include "report/format/format.hpp"
#include "report/results/axes.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {
namespace {

using regression::Verdict;
using regression::verdict_name;

/// Sort key by urgency; smaller comes first.
int urgency(Verdict verdict) {
  constexpr std::array<Verdict, 5> order{Verdict::wrong, Verdict::regressed, Verdict::improved,
                                         Verdict::inconclusive, Verdict::unchanged};
  return static_cast<int>(std::ranges::find(order, verdict) - order.begin());
}

/// The rows by verdict, those judged before their details, and the largest change first.
std::vector<Comparison> sorted(std::vector<Comparison> rows) {
  std::ranges::stable_sort(rows, {}, [](const Comparison& row) {
    return std::tuple(urgency(row.verdict), row.role != SeriesRole::judged,
                      -std::abs(std::log(row.ratio)));
  });
  return rows;
}

std::string_view role_name(const Comparison& row) {
  return row.role == SeriesRole::judged ? "judged" : "detail";
}

Json held_by(const Comparison& row) {
  using enum Comparison::Held;
  switch (row.held) {
    case no: return nullptr;
    case by_family: return "family";
    case by_place: return "place";
    case by_rounding: return "rounding";
  }
  return nullptr;
}

std::vector<std::string> verdict_words() {
  std::vector<std::string> words;
  for (const Verdict each : {Verdict::improved, Verdict::unchanged, Verdict::regressed,
                             Verdict::inconclusive, Verdict::wrong}) {
    words.emplace_back(verdict_name(each));
  }
  words.emplace_back("not measured");
  return words;
}

/// Fields of a row, which `words` name for people.
Fields<Comparison> comparison_fields(const RowWords& words = RowWords({})) {
  using F = Field<Comparison>;
  using enum Meaning;
  const auto name = [words](const Comparison& row) { return words.name(row); };
  const auto series = [](const Comparison& row) {
    return row.role == SeriesRole::judged ? row.series : row.series + " (detail)";
  };
  const auto time = [](double Comparison::*which) {
    return [which](const Comparison& row) { return to_text(Seconds(row.*which)); };
  };
  const auto change = [](const Comparison& row) { return row.ratio - 1; };
  const auto interval = [](const Comparison& row) -> std::string {
    if (!row.has_interval) return "unknown";
    return fmt::format("{} to {}", signed_percent(row.ratio_low - 1),
                       signed_percent(row.ratio_high - 1));
  };
  const auto verdict_cell = [](const Comparison& row) {
    return Cell{std::string(verdict_name(row.verdict)), tone_of(row.verdict)};
  };
  Fields<Comparison> fields{
      {"key", key, &Comparison::key, "measurement", name, Align::left},
      {"series", key, &Comparison::series, "series", series, Align::left},
      {"a_s", value, &Comparison::a, "A", time(&Comparison::a)},
      {"b_s", value, &Comparison::b, "B", time(&Comparison::b)},
      F::table("change", change, as::signed_percent),
      {"ratio", value, &Comparison::ratio},
      {"ratio_low", value, &Comparison::ratio_low},
      {"ratio_high", value, &Comparison::ratio_high, "95 % interval", interval},
      {"verdict", state, via(&Comparison::verdict, verdict_name), "verdict", verdict_cell,
       Align::left},
      {"role", key, role_name},
      {"method", remark, &Comparison::method, "from", as::words},
      F::json("launches", &Comparison::launches),
      F::json("held_by", held_by),
  };
  std::ranges::find(fields, "verdict", &F::key)->states = verdict_words();
  return fields;
}

Table rows_table(const ComparisonReport& report) {
  const RowWords words(report.rows);
  Table table = table_of(comparison_fields(words), sorted(report.rows));
  table.title = fmt::format("{} against {}", side_name("B", report.b), side_name("A", report.a)) +
                (words.common().empty() ? "" : ": " + words.common());
  table.most_shown = most_on_terminal;
  table.notes = words.own();
  say_once(table, "from", "changes are from");
  table.notes.push_back(
      fmt::format("changes within {} do not matter; less time is better", percent(report.margin)));
  constexpr int enough_launches = 5;
  const auto has_fewer = [&report](int launches) {
    return std::ranges::any_of(
        report.rows, [launches](const Comparison& row) { return row.launches < launches; });
  };
  if (has_fewer(2)) {
    table.notes.emplace_back(
        "an interval from samples of one launch does not know how launches differ: "
        "measure 5 repeats of both");
  } else if (has_fewer(enough_launches)) {
    table.notes.emplace_back("intervals of 2 to 4 launches are wide: measure 5 repeats of both");
  }
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
  if (!lines.empty()) tables.push_back({title, {}, {}, lines, most_on_terminal});
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

/// The model's explanation, from causes that change the iteration by at least a thousandth.
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

/// One column for each part, one row for each training, the largest change first; rows add up.
/// Sentences explain the first few.
Table attribution_table(const ComparisonReport& report) {
  constexpr std::size_t most_explained = 5;
  Table table;
  table.most_shown = most_on_terminal;
  std::vector<Attribution> rows = report.attributions;
  std::ranges::stable_sort(rows, std::ranges::greater(),
                           [](const Attribution& row) { return std::abs(row.change); });
  std::vector<Axes> axes;
  for (const Attribution& row : rows) axes.push_back(row.axes);
  const std::vector<std::string> varying = varying_axes(axes);
  table.title = "Where iterations changed, in shares of A's";
  table.columns = {{"training", Align::left}, {"iteration"}, {"95 % interval"}};
  for (const AttributedPart& part : rows.front().parts) table.columns.push_back({part.word});
  for (const Attribution& row : rows) {
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
    if (table.rows.size() > most_explained) continue;
    table.notes.push_back(fmt::format("{}: {}", name, attribution_sentence(row)));
    if (row.predicted) {
      table.notes.push_back(fmt::format("{}: {}", name, predicted_sentence(*row.predicted)));
    }
  }
  return table;
}

/// Whether the headline counts a row: its interval knows how launches differ.
bool is_counted(const Comparison& row) {
  return row.role == SeriesRole::judged && row.launches > 1;
}
bool is_of_one_launch(const Comparison& row) {
  return row.role == SeriesRole::judged && row.launches == 1;
}

long long count_rows(const ComparisonReport& report, bool (*of_these)(const Comparison&),
                     Verdict verdict) {
  return std::ranges::count_if(report.rows, [of_these, verdict](const Comparison& row) {
    return of_these(row) && row.verdict == verdict;
  });
}

/// "1 regressed, 0 improved, 2 unchanged, 0 inconclusive".
std::string counts_of(const ComparisonReport& report, bool (*of_these)(const Comparison&)) {
  std::string text;
  for (const Verdict each :
       {Verdict::regressed, Verdict::improved, Verdict::unchanged, Verdict::inconclusive}) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count_rows(report, of_these, each),
                        verdict_name(each));
  }
  return text;
}

/// ", 2 not compared": keys that the counts of rows do not include.
std::string left_out(const ComparisonReport& report) {
  const std::size_t wrong = not_compared_lines(report, Verdict::wrong).size();
  const std::string text =
      left_out_text(wrong, report.not_compared.size() - wrong, report.missing.size());
  return text.empty() ? "" : ", " + text;
}

long long held(const ComparisonReport& report, Comparison::Held why) {
  return std::ranges::count_if(report.rows, [why](const Comparison& row) {
    return row.role == SeriesRole::judged && row.held == why;
  });
}

/// Why verdicts of rows are withheld although their intervals have one.
std::string held_back(const ComparisonReport& report) {
  std::string text = withheld_text({held(report, Comparison::Held::by_family),
                                    held(report, Comparison::Held::by_rounding)},
                                   report.margin, "row");
  if (!report.place_differences.empty()) {
    text += fmt::format(
        ". A and B were measured at different places ({}), which says nothing of versions: "
        "judge across machines to compare them all the same",
        fmt::join(report.place_differences, "; "));
  }
  return text;
}

/// Whether rows of one launch alone give the verdict.
bool rests_on_one_launch(const ComparisonReport& report) {
  return (report.verdict == Verdict::regressed || report.verdict == Verdict::improved) &&
         count_rows(report, is_counted, report.verdict) == 0;
}

/// The rows that the counts leave out, since their intervals are too narrow.
std::string of_one_launch(const ComparisonReport& report) {
  const auto rows = std::ranges::count_if(report.rows, is_of_one_launch);
  if (rows == 0) return "";
  return fmt::format(
      ". {} on one launch of a side, whose intervals are too narrow ({}): repeat before you "
      "trust a change",
      rows == 1 ? "1 row rests" : fmt::format("{} rows rest", rows),
      counts_of(report, is_of_one_launch));
}

/// The one change that explains the rows, if there is one.
std::string in_common(const ComparisonReport& report) {
  if (!report.common || !report.common->explains) return "";
  std::string sentence = common_sentence(*report.common);
  sentence.front() = 'O';
  return fmt::format(". {}: interleaved runs of both tell", sentence);
}

Json common_object(const std::optional<CommonChange>& common) {
  if (!common) return nullptr;
  return {{"ratio", number(common->ratio)},
          {"ratio_low", number(common->low)},
          {"ratio_high", number(common->high)},
          {"rows", common->rows},
          {"explained", common->explained},
          {"explains", common->explains}};
}

/// The verdict and how far it can be trusted. A comment truncates its headline, so missing
/// measurements precede rows that may be chance.
std::string lead(const ComparisonReport& report) {
  const std::string environment =
      report.changed_environment.empty()
          ? ""
          : ", measured in " + different_environments(report.changed_environment);
  if (report.rows.empty()) {
    return fmt::format("{}: nothing in common has times on both sides{}",
                       verdict_name(report.verdict), left_out(report));
  }
  const auto rows = std::ranges::count_if(report.rows, is_counted);
  const std::string counts =
      rows == 0 ? "no row" : counts_of(report, is_counted) + " of " + counted(rows, "row");
  return fmt::format("{}{}{}: {} of several launches{}{}{}{}", verdict_name(report.verdict),
                     environment, rests_on_one_launch(report) ? ", if one launch is enough" : "",
                     counts, left_out(report), in_common(report), held_back(report),
                     of_one_launch(report));
}

/// A record of a key without times to compare.
void add_without_times(Table& records, const std::string& name, std::string_view verdict,
                       const std::string& why) {
  std::vector<Cell>& cells = records.rows.emplace_back(records.columns.size());
  const auto cell = [&](std::string_view heading) -> std::string& {
    return cells.at(format::column_of(records, heading).value()).text;
  };
  cell("key") = name;
  cell("verdict") = verdict;
  cell("role") = "judged";
  cell("method") = why;
}

Table comparison_records(const ComparisonReport& report) {
  Table table = records_of(comparison_fields(), report.rows);
  for (const NotCompared& each : report.not_compared) {
    add_without_times(table, each.key, verdict_name(each.verdict), each.why);
  }
  for (const std::string& name : report.missing) {
    add_without_times(table, name, "not measured", "A measured it, B did not");
  }
  return table;
}

Json part_object(const AttributedPart& part) {
  return {{"part", part.series},
          {"before_s", number(part.before)},
          {"after_s", number(part.after)},
          {"share", number(part.share)},
          {"share_low", number(part.share_low)},
          {"share_high", number(part.share_high)}};
}

Json predicted_object(const std::optional<PredictedChange>& predicted) {
  if (!predicted) return nullptr;
  Json causes = Json::array();
  for (const PredictedCause& cause : predicted->causes) {
    causes.push_back(
        {{"part", cause.part}, {"share", number(cause.share)}, {"moved", cause.moved}});
  }
  return {{"change", number(predicted->change)},
          {"together", number(predicted->together)},
          {"causes", std::move(causes)}};
}

Json attribution_object(const Attribution& attribution) {
  Json parts = Json::array();
  for (const AttributedPart& part : attribution.parts) parts.push_back(part_object(part));
  return {{"key", attribution.key},
          {"before_s", number(attribution.before)},
          {"after_s", number(attribution.after)},
          {"change", number(attribution.change)},
          {"change_low", number(attribution.change_low)},
          {"change_high", number(attribution.change_high)},
          {"launches", attribution.launches},
          {"sentence", attribution_sentence(attribution)},
          {"parts", std::move(parts)},
          {"predicted", predicted_object(attribution.predicted)}};
}

Json comparison_object(const ComparisonReport& report) {
  Json not_compared = Json::array();
  Json wrong = Json::array();
  for (const NotCompared& each : report.not_compared) {
    not_compared.push_back(each.key + ": " + each.why);
    if (each.verdict == Verdict::wrong) wrong.push_back(each.key);
  }
  Json attributions = Json::array();
  for (const Attribution& each : report.attributions) {
    attributions.push_back(attribution_object(each));
  }
  return {{"verdict", verdict_name(report.verdict)},
          {"a", report.a},
          {"b", report.b},
          {"paths", Json::array({report.path_a, report.path_b})},
          {"margin", number(report.margin)},
          {"rows", list_of(comparison_fields(), report.rows)},
          {"only_a", report.only_a},
          {"missing", report.missing},
          {"only_b", report.only_b},
          {"not_compared", std::move(not_compared)},
          {"wrong", std::move(wrong)},
          {"environment_differences", report.environment_differences},
          {"place_differences", report.place_differences},
          {"changed_environment", report.changed_environment},
          {"attributions", std::move(attributions)},
          {"common_change", common_object(report.common)}};
}

}  // namespace

std::string withheld_text(const WithheldRows& rows, double margin, const std::string& noun) {
  std::string text;
  if (rows.by_family > 0) {
    text += fmt::format(". {} may differ by chance among so many: measure more repeats",
                        counted(rows.by_family, noun));
  }
  if (rows.by_rounding > 0) {
    text += fmt::format(". {} {} printed with too few digits to see changes of {}",
                        counted(rows.by_rounding, noun), rows.by_rounding == 1 ? "is" : "are",
                        percent(margin));
  }
  return text;
}

std::string left_out_text(std::size_t wrong, std::size_t not_compared, std::size_t missing) {
  std::string text;
  const auto add = [&text](std::size_t number, const char* what) {
    if (number > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", number, what);
  };
  add(wrong, "wrong in B");
  add(not_compared, "not compared");
  add(missing, "not measured in B");
  return text;
}

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
  document.records = comparison_records(report);
  document.json = json_answer("dlscale.comparison", [report] { return comparison_object(report); });
  return document;
}

}  // namespace dlscale::report
