#include "report/score/score_report.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace dlscale::report {
namespace {

using cases::CaseFile;
using cases::CasePrediction;
using cases::PredictionStatus;

ScoredPredictions scored(const CaseFile& file, const NamedPredictions& named,
                         const CaseChoice& choice) {
  ScoredPredictions scored;
  scored.name = named.name;
  scored.doc = named.doc;
  scored.judged = judge_cases(file, named.predictions, choice);
  scored.score = score(scored.judged);
  return scored;
}

std::vector<NodeScore> scores_by_nodes(const CaseFile& file, const NamedPredictions& named,
                                       const CaseChoice& choice) {
  if (choice.nodes != NodeChoice::any) return {};
  std::vector<NodeScore> scores;
  for (const NodeChoice nodes : {NodeChoice::one, NodeChoice::several}) {
    const auto judged = chosen_cases(file, named.predictions, {"set", choice.quality, nodes});
    if (judged.empty()) return {};
    scores.push_back({nodes, score(judged).overall});
  }
  return scores;
}

bool covers_any(const NamedPredictions& named) {
  return std::ranges::any_of(named.predictions, [](const CasePrediction& prediction) {
    return prediction.status != PredictionStatus::not_covered;
  });
}

}  // namespace

std::vector<std::string> ScoreReport::missing() const {
  std::vector<std::string> ids;
  for (const JudgedCase& judged : predictions.judged) {
    if (judged.is_missing()) ids.push_back(judged.id);
  }
  return ids;
}

ScoreReport score_report(const CaseFile& file, const NamedPredictions& predictions,
                         std::span<const NamedPredictions> baselines, const CaseChoice& choice) {
  ScoreReport report;
  report.cases = file.path;
  report.choice = choice;
  report.of_curves = file.holds_curves();
  report.predictions = scored(file, predictions, choice);
  for (const NamedPredictions& baseline : baselines) {
    if (covers_any(baseline)) report.baselines.push_back(scored(file, baseline, choice));
  }
  report.by_nodes = scores_by_nodes(file, predictions, choice);
  report.not_measured = static_cast<std::size_t>(std::ranges::count_if(
      file.outcomes, [](const cases::Outcome& outcome) { return !outcome.measured; }));
  report.unknown = unknown_ids(file, predictions.predictions);
  return report;
}

std::vector<JudgedLimit> judged_limits(const Score& overall, const ScoreLimits& limits) {
  std::vector<JudgedLimit> judged;
  const auto at_most = [&](const char* name, double value, const std::optional<double>& most) {
    if (most) judged.push_back({name, value, 0, *most});
  };
  at_most("median", overall.median, limits.median);
  at_most("mean", overall.mean, limits.mean);
  at_most("bias", std::abs(overall.bias), limits.bias);
  if (limits.coverage) {
    const auto [least, most] = *limits.coverage;
    judged.push_back({"coverage", overall.coverage, least, most});
  }
  return judged;
}

ExitCode exit_code(const ScoreReport& report, const ScoreLimits& limits) {
  const auto judged = judged_limits(report.predictions.score.overall, limits);
  return std::ranges::all_of(judged, &JudgedLimit::is_kept) ? ExitCode::ok : ExitCode::regression;
}

std::vector<WorstItem> worst_items(const std::vector<JudgedCase>& judged) {
  constexpr std::size_t shown = 10;
  std::vector<WorstItem> worst;
  for (const JudgedCase& one : judged) {
    for (const JudgedItem& item : one.items) worst.push_back({&one, &item});
  }
  std::ranges::stable_sort(worst, std::greater{},
                           [](const WorstItem& each) { return std::abs(each.item->error()); });
  if (worst.size() > shown) worst.erase(worst.begin() + shown, worst.end());
  return worst;
}

const cases::PredictedTerm* largest_term(const JudgedCase& judged) {
  if (judged.terms.empty()) return nullptr;
  return &*std::ranges::max_element(judged.terms, {}, &cases::PredictedTerm::time);
}

const cases::PredictedTerm* blamed_term(const JudgedCase& judged) {
  const cases::PredictedTerm* blamed = nullptr;
  for (const cases::PredictedTerm& term : judged.terms) {
    if (term.basis == "measured") continue;
    if (blamed == nullptr || term.time > blamed->time) blamed = &term;
  }
  return blamed == nullptr ? largest_term(judged) : blamed;
}

}  // namespace dlscale::report
