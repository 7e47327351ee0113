#include "report/json/fields.hpp"
#include "report/score/score_report.hpp"

namespace dlscale::report {
namespace {

Json score_fields(const Score& score) {
  return {{"n", score.items},
          {"missing", score.missing},
          {"mean_abs", number(score.mean)},
          {"median_abs", number(score.median)},
          {"bias", number(score.bias)},
          {"p90_abs", number(score.p90)},
          {"max_abs", number(score.max)},
          {"spearman", optional_number(score.rank_correlation)},
          {"coverage", number(score.coverage)},
          {"width", optional_number(score.width)}};
}

Json scored_fields(const ScoredPredictions& scored) {
  Json groups = Json::object();
  for (const auto& [group, score] : scored.score.groups) groups[group] = score_fields(score);
  return {{"name", scored.name},
          {"doc", scored.doc},
          {"groups", std::move(groups)},
          {"overall", score_fields(scored.score.overall)}};
}

Json worst_fields(const WorstItem& worst) {
  const auto& [judged, item] = worst;
  const cases::PredictedTerm* term = largest_term(*judged);
  const cases::PredictedTerm* blamed = blamed_term(*judged);
  return {{"id", judged->id},
          {"group", judged->group},
          {"bytes", item->bytes ? number(item->bytes->si()) : Json(nullptr)},
          {"unit", cases::to_string(judged->unit)},
          {"measured", number(item->measured)},
          {"predicted", optional_number(item->predicted)},
          {"low", optional_number(item->low)},
          {"high", optional_number(item->high)},
          {"error", number(item->error())},
          {"status", cases::to_string(judged->status)},
          {"reason", judged->reason},
          {"largest_term", term == nullptr ? Json(nullptr) : Json(term->name)},
          {"blamed_term", blamed == nullptr ? Json(nullptr) : Json(blamed->name)},
          {"blamed_term_s", blamed == nullptr ? Json(nullptr) : number(blamed->time.si())}};
}

Json limit_fields(const JudgedLimit& limit) {
  return {{"limit", limit.name},
          {"value", number(limit.value)},
          {"least", number(limit.least)},
          {"most", number(limit.most)},
          {"kept", limit.is_kept()}};
}

}  // namespace

std::string score_json(const ScoreReport& report, const ScoreLimits& limits) {
  Json json{{"schema", "dlscale.score"}, {"version", 1}};
  json["verdict"] = exit_code(report, limits) == ExitCode::ok ? "passed" : "failed";
  json["limits"] = Json::array();
  for (const JudgedLimit& limit : judged_limits(report.predictions.score.overall, limits)) {
    json["limits"].push_back(limit_fields(limit));
  }
  json["cases"] = report.cases.string();
  json["by"] = report.choice.by;
  json["quality"] = report.choice.quality.empty() ? Json(nullptr) : Json(report.choice.quality);
  json["nodes"] =
      report.choice.nodes == NodeChoice::any ? Json(nullptr) : Json(to_string(report.choice.nodes));
  json["predictions"] = scored_fields(report.predictions);
  json["by_nodes"] = Json::object();
  for (const auto& [nodes, score] : report.by_nodes) {
    json["by_nodes"][std::string(to_string(nodes))] = score_fields(score);
  }
  json["baselines"] = Json::array();
  for (const ScoredPredictions& baseline : report.baselines) {
    json["baselines"].push_back(scored_fields(baseline));
  }
  json["worst"] = Json::array();
  for (const WorstItem& worst : worst_items(report.predictions.judged)) {
    json["worst"].push_back(worst_fields(worst));
  }
  json["missing"] = report.missing();
  json["unknown"] = report.unknown;
  json["not_measured"] = report.not_measured;
  return dump(json);
}

}  // namespace dlscale::report
