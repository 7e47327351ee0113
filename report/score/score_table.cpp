#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/numbers.hpp"
#include "report/score/score_report.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {
namespace {

constexpr std::string_view absent = "–";

/// Fields in the order of JSON.
Fields<Score> score_fields() {
  using enum Meaning;
  const auto missing = [](const Score& score) {
    return Cell{std::to_string(score.missing), score.missing > 0 ? Tone::caution : Tone::plain};
  };
  const auto spearman = [](const Score& score) {
    const auto& it = score.rank_correlation;
    return it ? fmt::format("{:.3f}", *it) : std::string(absent);
  };
  return {
      {"n", value, &Score::items, "n", as::exact},
      {"missing", value, &Score::missing, "missing", missing},
      {"mean_abs", value, &Score::mean, "mean", as::percent},
      {"median_abs", value, &Score::median, "median", as::percent},
      {"bias", value, &Score::bias, "bias", as::signed_percent},
      {"p90_abs", value, &Score::p90, "90 % within", as::percent},
      {"max_abs", value, &Score::max, "max", as::percent},
      {"spearman", value, &Score::rank_correlation, "Spearman", spearman},
      {"coverage", value, &Score::coverage, "coverage", as::percent},
      {"width", value, &Score::width, "width", as::percent},
  };
}

/// A score and its owner.
struct ScoreRow {
  std::string name;
  Score score;
};

/// Scores; `of` is the heading of their names.
Table scores_table(const std::string& of, const std::vector<ScoreRow>& rows) {
  const Fields<Score> shown =
      picked(score_fields(), {"n", "missing", "median_abs", "mean_abs", "bias", "p90_abs",
                              "max_abs", "spearman", "coverage", "width"});
  return table_of(joined<ScoreRow>({{Field<ScoreRow>::table(of, &ScoreRow::name, as::words)},
                                    part_of<ScoreRow>(shown, &ScoreRow::score)}),
                  rows);
}

std::string overall_name(const ScoreReport& report) {
  return fmt::format("overall (each {} weighs the same)", report.choice.by);
}

/// The first of the ids.
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
  std::vector<ScoreRow> rows;
  for (const auto& [group, of_group] : score.groups) rows.push_back({group, of_group});
  rows.push_back({overall_name(report), score.overall});
  Table table = scores_table(report.choice.by, rows);
  table.title = fmt::format("Predictions by {}", report.choice.by);
  table.notes = score_notes(report);
  return table;
}

Table nodes_table(const ScoreReport& report) {
  std::vector<ScoreRow> rows;
  for (const auto& [nodes, score] : report.by_nodes) {
    rows.push_back({std::string(to_string(nodes)), score});
  }
  Table table = scores_table("nodes", rows);
  table.title = "One node and several";
  table.notes.emplace_back("each set weighs the same");
  return table;
}

/// Predictions without a given point, by group.
Table sheets_table(const ScoreReport& report) {
  std::vector<ScoreRow> rows;
  Table notes;
  for (const ScoredPredictions& each : report.by_sheets) {
    for (const auto& [group, score] : each.score.groups) {
      rows.push_back({fmt::format("{}: {}", each.name, group), score});
    }
    if (!each.score.groups.empty()) {
      rows.push_back({fmt::format("{}: {}", each.name, overall_name(report)), each.score.overall});
    }
    notes.notes.push_back(fmt::format("{}: {}", each.name, each.doc));
  }
  Table table = scores_table(fmt::format("answer and {}", report.choice.by), rows);
  table.title = "Without a given point, where the links are stated";
  table.notes = std::move(notes.notes);
  return table;
}

using Pick = std::function<const Score&(const ScoredPredictions&)>;

/// Median and mean of all predictors, and the name of the one with the least median.
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
  table.notes.push_back(fmt::format("{}: {}", report.predictions.name, report.predictions.doc));
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
  std::vector<ScoreRow> rows{{report.predictions.name, report.predictions.score.overall}};
  for (const ScoredPredictions& baseline : report.baselines) {
    rows.push_back({baseline.name, baseline.score.overall});
  }
  Table table = scores_table("predictor", rows);
  table.title = "Overall";
  if (report.baselines.empty()) {
    table.notes.push_back(
        "no baseline: each needs a given point, or tokens and a GPU with a data sheet, and no case "
        "has them");
  }
  return table;
}

/// Excess of the predicted iteration time of a rate, as a share of its terms. Empty if it is too
/// short, or if the value is not a rate.
std::optional<Seconds> too_long_by(const JudgedCase& judged, const JudgedItem& item) {
  const bool is_rate = judged.unit == cases::CaseUnit::samples_per_s;
  if (!is_rate || !item.predicted || *item.predicted >= item.measured) return std::nullopt;
  Seconds all;
  for (const cases::PredictedTerm& term : judged.terms) all += term.time;
  return (1 - *item.predicted / item.measured) * all;
}

/// The term to blame, with its time. Adds a note if the iteration would be too long even without
/// it.
std::string term_text(const JudgedCase& judged, const JudgedItem& item) {
  const cases::PredictedTerm* term = blamed_term(judged);
  if (!judged.items.empty() && judged.is_missing() && !judged.reason.empty()) return judged.reason;
  if (term == nullptr) return std::string(absent);
  const std::string text = fmt::format("{} ({} ms)", term->name, milliseconds(term->time));
  const std::optional<Seconds> excess = too_long_by(judged, item);
  if (!excess || term->time >= *excess) return text;
  return fmt::format("none alone: {} ms too many, and {} at most", milliseconds(*excess), text);
}

std::string general_text(const Json& number) {
  return number.is_null() ? std::string(absent) : fmt::format("{:.4g}", number.get<double>());
}

Json name_of(const cases::PredictedTerm* term) {
  return term == nullptr ? Json(nullptr) : Json(term->name);
}

/// A measured number of a case and its prediction; people see sizes if `has_sizes`.
Fields<WorstItem> item_fields(bool has_sizes) {
  using F = Field<WorstItem>;
  using enum Meaning;
  constexpr Look general{general_text};
  const auto of_case = [](auto... path) { return via(&WorstItem::judged, path...); };
  const auto of_item = [](auto member) { return via(&WorstItem::item, member); };
  const auto word = [](auto which) { return cases::to_string(which); };
  const auto blame = [](const WorstItem& row) { return term_text(*row.judged, *row.item); };
  const auto blamed_time = [](const WorstItem& row) {
    const cases::PredictedTerm* term = blamed_term(*row.judged);
    return term == nullptr ? std::nullopt : std::optional(term->time);
  };
  return {
      {"id", key, of_case(&JudgedCase::id), "case", as::words},
      {"group", key, of_case(&JudgedCase::group)},
      {"bytes", key, of_item(&JudgedItem::bytes), has_sizes ? "bytes" : "", as::whole},
      {"unit", key, of_case(&JudgedCase::unit, word), "unit", as::words},
      {"measured", value_in_unit, of_item(&JudgedItem::measured), "measured", general},
      {"predicted", value_in_unit, of_item(&JudgedItem::predicted), "predicted", general},
      {"low", value_in_unit, of_item(&JudgedItem::low), "low", general},
      {"high", value_in_unit, of_item(&JudgedItem::high), "high", general},
      {"error", value, of_item(&JudgedItem::error), "error", as::signed_percent},
      {"status", state, of_case(&JudgedCase::status, word), "status", as::words},
      F::json("reason", of_case(&JudgedCase::reason)),
      F::json("largest_term",
              [](const WorstItem& row) { return name_of(largest_term(*row.judged)); }),
      F::json("blamed_term",
              [](const WorstItem& row) { return name_of(blamed_term(*row.judged)); }),
      F::json("blamed_term_s", blamed_time),
      F::table("term to blame, or why there is none", blame, as::words),
  };
}

Table worst_table(const ScoreReport& report) {
  Table table = table_of(item_fields(report.of_curves), worst_items(report.predictions.judged));
  table.title = "Largest errors";
  table.notes.push_back(
      "term to blame: the largest that was not measured of the same training itself");
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

/// A record: a number to predict.
struct ScoredItem {
  std::string predictor;
  WorstItem item;
};

Table records(const ScoreReport& report) {
  std::vector<ScoredItem> rows;
  const auto add = [&rows](const ScoredPredictions& scored) {
    for (const JudgedCase& judged : scored.judged) {
      for (const JudgedItem& item : judged.items) rows.push_back({scored.name, {&judged, &item}});
    }
  };
  add(report.predictions);
  std::ranges::for_each(report.baselines, add);
  std::ranges::for_each(report.by_sheets, add);
  return records_of(
      joined<ScoredItem>({{{"predictor", Meaning::key, &ScoredItem::predictor}},
                          part_of<ScoredItem>(item_fields(report.of_curves), &ScoredItem::item)}),
      rows);
}

Json scored_object(const ScoredPredictions& scored) {
  const Fields<Score> fields = score_fields();
  Json groups = Json::object();
  for (const auto& [group, score] : scored.score.groups) groups[group] = object_of(fields, score);
  return {{"name", scored.name},
          {"doc", scored.doc},
          {"groups", std::move(groups)},
          {"overall", object_of(fields, scored.score.overall)}};
}

Json limits_list(const ScoreReport& report, const ScoreLimits& limits) {
  Json list = Json::array();
  for (const JudgedLimit& limit : judged_limits(report.predictions.score.overall, limits)) {
    list.push_back({{"limit", limit.name},
                    {"value", number(limit.value)},
                    {"least", number(limit.least)},
                    {"most", number(limit.most)},
                    {"kept", limit.is_kept()}});
  }
  return list;
}

Json choices_object(const std::vector<PlanChoice>& choices) {
  Json sets = Json::object();
  for (const ChoiceScore& score : choice_scores(choices)) {
    sets[score.set] = {{"trainings", score.trainings},
                       {"plans", score.plans},
                       {"best_chosen", score.right},
                       {"median_loss", number(score.median_loss)},
                       {"mean_loss", number(score.mean_loss)},
                       {"greatest_loss", number(score.greatest_loss)}};
  }
  Json trainings = Json::array();
  for (const PlanChoice& choice : choices) {
    trainings.push_back({{"set", choice.set},
                         {"training", choice.training},
                         {"plans", choice.plans},
                         {"chosen", choice.chosen},
                         {"best", choice.best},
                         {"loss", number(choice.loss)}});
  }
  return {{"sets", std::move(sets)}, {"trainings", std::move(trainings)}};
}

Json score_object(const ScoreReport& report, const ScoreLimits& limits) {
  const CaseChoice& choice = report.choice;
  Json by_nodes = Json::object();
  for (const auto& [nodes, score] : report.by_nodes) {
    by_nodes[std::string(to_string(nodes))] = object_of(score_fields(), score);
  }
  Json baselines = Json::array();
  for (const ScoredPredictions& each : report.baselines) baselines.push_back(scored_object(each));
  const bool any_nodes = choice.nodes == NodeChoice::any;
  Json answer{
      {"verdict", exit_code(report, limits) == ExitCode::ok ? "passed" : "failed"},
      {"limits", limits_list(report, limits)},
      {"cases", report.cases.string()},
      {"by", choice.by},
      {"quality", text_or_null(choice.quality)},
      {"nodes", any_nodes ? Json(nullptr) : Json(to_string(choice.nodes))},
      {"predictions", scored_object(report.predictions)},
      {"by_nodes", std::move(by_nodes)},
      {"baselines", std::move(baselines)},
      {"worst", list_of(item_fields(report.of_curves), worst_items(report.predictions.judged))},
      {"missing", report.missing()},
      {"unknown", report.unknown},
      {"not_measured", report.not_measured}};
  if (!report.choices.empty()) answer["choices"] = choices_object(report.choices);
  for (const ScoredPredictions& each : report.by_sheets) {
    answer["by_sheets"].push_back(scored_object(each));
  }
  return answer;
}

}  // namespace

Document score_document(const ScoreReport& report, const ScoreLimits& limits) {
  std::vector<Table> tables{groups_table(report), beside_table(report), overall_table(report),
                            worst_table(report)};
  if (!report.by_sheets.empty()) tables.insert(tables.begin() + 3, sheets_table(report));
  if (!report.by_nodes.empty()) tables.insert(tables.begin() + 1, nodes_table(report));
  if (!report.choices.empty()) tables.push_back(choice_table(choice_scores(report.choices)));
  return {sentence(report, limits), std::move(tables), records(report),
          json_answer("dlscale.score", [report, limits] { return score_object(report, limits); })};
}

}  // namespace dlscale::report
