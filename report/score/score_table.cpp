#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "report/numbers.hpp"
#include "report/record_columns.hpp"
#include "report/score/score_report.hpp"

namespace dlscale::report {
namespace {

constexpr std::string_view absent = "–";

std::string percent_or_absent(const std::optional<double>& fraction) {
  return fraction ? percent(*fraction) : std::string(absent);
}

std::vector<Column> score_columns(const std::string& first) {
  return {{first, Align::left}, {"n"},   {"missing"},  {"median"},   {"mean"}, {"bias"},
          {"90 % within"},      {"max"}, {"Spearman"}, {"coverage"}, {"width"}};
}

std::vector<Cell> score_cells(const std::string& first, const Score& score) {
  return {{first},
          {std::to_string(score.items)},
          {std::to_string(score.missing), score.missing > 0 ? Tone::caution : Tone::plain},
          {percent(score.median)},
          {percent(score.mean)},
          {signed_percent(score.bias)},
          {percent(score.p90)},
          {percent(score.max)},
          {score.rank_correlation ? fmt::format("{:.3f}", *score.rank_correlation)
                                  : std::string(absent)},
          {percent(score.coverage)},
          {percent_or_absent(score.width)}};
}

std::string overall_name(const ScoreReport& report) {
  return fmt::format("overall (each {} weighs the same)", report.choice.by);
}

/// Some ids, the first of many.
std::string ids_text(const std::vector<std::string>& ids) {
  constexpr std::size_t shown = 5;
  if (ids.size() <= shown) return fmt::format("{}", fmt::join(ids, ", "));
  return fmt::format("{} and {} more", fmt::join(ids.begin(), ids.begin() + shown, ", "),
                     ids.size() - shown);
}

std::vector<std::string> score_notes(const ScoreReport& report) {
  std::vector<std::string> notes{
      "error: (predicted − measured) / measured; median, mean, 90 %, max: of its absolute value",
      "coverage: numbers within their interval; width: median of (high − low) / predicted",
      "missing: no prediction, counted as an error of −100 % and as not covered"};
  if (report.choice.nodes != NodeChoice::any) {
    notes.push_back(fmt::format("only cases of {} node{}", to_string(report.choice.nodes),
                                report.choice.nodes == NodeChoice::one ? "" : "s"));
  }
  if (const auto missing = report.missing(); !missing.empty()) {
    notes.push_back(fmt::format("no prediction, or not of all sizes: {}", ids_text(missing)));
  }
  if (!report.unknown.empty()) {
    notes.push_back(
        fmt::format("{} of no case of the file, passed over: {}",
                    counted(static_cast<long long>(report.unknown.size()), "prediction"),
                    ids_text(report.unknown)));
  }
  if (report.not_measured > 0) {
    notes.push_back(fmt::format("{} without a measured value, not scored",
                                counted(static_cast<long long>(report.not_measured), "case")));
  }
  return notes;
}

Table groups_table(const ScoreReport& report) {
  const GroupedScore& score = report.predictions.score;
  Table table;
  table.title = fmt::format("Predictions by {}", report.choice.by);
  table.columns = score_columns(report.choice.by);
  for (const auto& [group, of_group] : score.groups) {
    table.rows.push_back(score_cells(group, of_group));
  }
  table.rows.push_back(score_cells(overall_name(report), score.overall));
  table.notes = score_notes(report);
  return table;
}

Table nodes_table(const ScoreReport& report) {
  Table table;
  table.title = "One node and several";
  table.columns = score_columns("nodes");
  for (const auto& [nodes, score] : report.by_nodes) {
    table.rows.push_back(score_cells(std::string(to_string(nodes)), score));
  }
  table.notes.emplace_back("each set weighs the same");
  return table;
}

using Pick = std::function<const Score&(const ScoredPredictions&)>;

/// Median and mean of all predictors, and which has the least median.
std::vector<Cell> beside_cells(const ScoreReport& report, const std::string& group,
                               const Pick& score_of) {
  std::vector<Cell> cells{{group}};
  const Score& own = score_of(report.predictions);
  cells.push_back({percent(own.median)});
  cells.push_back({percent(own.mean)});
  const ScoredPredictions* best = &report.predictions;
  for (const ScoredPredictions& baseline : report.baselines) {
    const Score& score = score_of(baseline);
    cells.push_back({percent(score.median)});
    cells.push_back({percent(score.mean)});
    if (score.median < score_of(*best).median) best = &baseline;
  }
  cells.push_back({best->name, best == &report.predictions ? Tone::good : Tone::bad});
  return cells;
}

Table beside_table(const ScoreReport& report) {
  Table table;
  table.title = "Absolute error beside the baselines";
  table.columns = {{report.choice.by, Align::left}, {"median"}, {"mean"}};
  for (const ScoredPredictions& baseline : report.baselines) {
    table.columns.push_back({baseline.name + ": median"});
    table.columns.push_back({"mean"});
    table.notes.push_back(fmt::format("{}: {}", baseline.name, baseline.doc));
  }
  table.columns.push_back({"least median", Align::left});
  for (const auto& [group, unused] : report.predictions.score.groups) {
    table.rows.push_back(
        beside_cells(report, group, [&name = group](const ScoredPredictions& each) -> const Score& {
          return each.score.groups.at(name);
        }));
  }
  table.rows.push_back(beside_cells(
      report, overall_name(report),
      [](const ScoredPredictions& each) -> const Score& { return each.score.overall; }));
  return table;
}

Table overall_table(const ScoreReport& report) {
  Table table;
  table.title = "Overall";
  table.columns = score_columns("predictor");
  table.rows.push_back(score_cells(report.predictions.name, report.predictions.score.overall));
  for (const ScoredPredictions& baseline : report.baselines) {
    table.rows.push_back(score_cells(baseline.name, baseline.score.overall));
  }
  if (report.baselines.empty()) {
    table.notes.push_back(
        "no baseline: each needs a given point, or tokens and a GPU with a data sheet, and no case "
        "has them");
  }
  return table;
}

/// By how much the iteration of a rate was predicted too long, by its terms; nothing where it was
/// too short, or is no rate.
std::optional<Seconds> too_long_by(const JudgedCase& judged, const JudgedItem& item) {
  const bool is_rate = judged.unit == cases::CaseUnit::samples_per_s;
  if (!is_rate || !item.predicted || *item.predicted >= item.measured) return std::nullopt;
  Seconds all;
  for (const cases::PredictedTerm& term : judged.terms) all += term.time;
  return (1 - *item.predicted / item.measured) * all;
}

/// The term to blame, with its time; that it is not enough, where the iteration would be too long
/// without it, too.
std::string term_text(const JudgedCase& judged, const JudgedItem& item) {
  const cases::PredictedTerm* term = blamed_term(judged);
  if (!judged.items.empty() && judged.is_missing() && !judged.reason.empty()) return judged.reason;
  if (term == nullptr) return std::string(absent);
  const std::string text = fmt::format("{} ({} ms)", term->name, milliseconds(term->time));
  const std::optional<Seconds> excess = too_long_by(judged, item);
  if (!excess || term->time >= *excess) return text;
  return fmt::format("none alone: {} ms too many, and {} at most", milliseconds(*excess), text);
}

std::string number_or_absent(const std::optional<double>& value) {
  return value ? fmt::format("{:.4g}", *value) : std::string(absent);
}

Table worst_table(const ScoreReport& report) {
  Table table;
  table.title = "Largest errors";
  table.columns = {{"case", Align::left},
                   {"bytes"},
                   {"unit", Align::left},
                   {"measured"},
                   {"predicted"},
                   {"low"},
                   {"high"},
                   {"error"},
                   {"status", Align::left},
                   {"term to blame, or why there is none", Align::left}};
  for (const auto& [judged, item] : worst_items(report.predictions.judged)) {
    table.rows.push_back(
        {{judged->id},
         {item->bytes ? fmt::format("{:.0f}", item->bytes->si()) : std::string(absent)},
         {std::string(cases::to_string(judged->unit))},
         {fmt::format("{:.4g}", item->measured)},
         {number_or_absent(item->predicted)},
         {number_or_absent(item->low)},
         {number_or_absent(item->high)},
         {signed_percent(item->error())},
         {std::string(cases::to_string(judged->status))},
         {term_text(*judged, *item)}});
  }
  table.notes.push_back(
      "term to blame: the largest that was not measured of the same training itself");
  if (!report.of_curves) {
    for (auto& row : table.rows) row.erase(row.begin() + 1);
    table.columns.erase(table.columns.begin() + 1);
  }
  return table;
}

std::string limit_text(const JudgedLimit& limit) {
  const std::string range = limit.least > 0
                                ? fmt::format("{} to {}", percent(limit.least), percent(limit.most))
                                : percent(limit.most);
  return fmt::format("{} {} (limit {}: {})", limit.name, percent(limit.value), range,
                     limit.is_kept() ? "kept" : "missed");
}

std::string sentence(const ScoreReport& report, const ScoreLimits& limits) {
  const Score& score = report.predictions.score.overall;
  std::string text =
      fmt::format("{} of {}: median absolute error {}, mean {}, bias {}; {} lie in their interval.",
                  counted(static_cast<long long>(score.items), "measured number"),
                  counted(static_cast<long long>(report.predictions.judged.size()), "case"),
                  percent(score.median), percent(score.mean), signed_percent(score.bias),
                  percent(score.coverage));
  if (!report.baselines.empty()) {
    const auto& best = *std::ranges::min_element(
        report.baselines, {}, [](const auto& each) { return each.score.overall.median; });
    text += fmt::format(" The best baseline, {}, has {} and {}.", best.name,
                        percent(best.score.overall.median), percent(best.score.overall.mean));
  }
  std::vector<std::string> judged;
  for (const JudgedLimit& limit : judged_limits(score, limits)) judged.push_back(limit_text(limit));
  if (!judged.empty()) text += fmt::format(" Limits: {}.", fmt::join(judged, ", "));
  return text;
}

std::string exact_or_empty(const std::optional<double>& value) {
  return value ? exact(*value) : "";
}

void add_records(Table& table, const ScoredPredictions& scored) {
  for (const JudgedCase& judged : scored.judged) {
    for (const JudgedItem& item : judged.items) {
      table.rows.push_back({{scored.name},
                            {judged.id},
                            {judged.group},
                            {item.bytes ? exact(item.bytes->si()) : ""},
                            {std::string(cases::to_string(judged.unit))},
                            {exact(item.measured)},
                            {exact_or_empty(item.predicted)},
                            {exact_or_empty(item.low)},
                            {exact_or_empty(item.high)},
                            {exact(item.error())},
                            {std::string(cases::to_string(judged.status))}});
    }
  }
}

Table records(const ScoreReport& report) {
  Table table;
  add_columns(table.columns, Meaning::key, {"predictor", "id", "group", "bytes", "unit"});
  add_columns(table.columns, Meaning::value_in_unit, {"measured", "predicted", "low", "high"});
  add_columns(table.columns, Meaning::value, {"error"});
  add_columns(table.columns, Meaning::state, {"status"});
  add_records(table, report.predictions);
  for (const ScoredPredictions& baseline : report.baselines) add_records(table, baseline);
  return table;
}

}  // namespace

Document score_document(const ScoreReport& report, const ScoreLimits& limits) {
  std::vector<Table> tables{groups_table(report), beside_table(report), overall_table(report),
                            worst_table(report)};
  if (!report.by_nodes.empty()) tables.insert(tables.begin() + 1, nodes_table(report));
  return {sentence(report, limits), std::move(tables), records(report), score_json(report, limits)};
}

}  // namespace dlscale::report
