#include "report/score/score_report.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "core/base/error.hpp"
#include "report/validation/validate.hpp"

namespace dlscale::report {
namespace {

using cases::CaseFile;
using cases::CasePrediction;
using cases::PredictionStatus;

/// A measured number and its weight.
struct Weighted {
  JudgedItem item;
  double weight = 1;
};

/// Values with their weights.
using Pairs = std::vector<std::pair<double, double>>;

double total_weight(const Pairs& pairs) {
  double total = 0;
  for (const auto& [value, weight] : pairs) total += weight;
  return total;
}

double weighted_mean(const Pairs& pairs) {
  double sum = 0;
  for (const auto& [value, weight] : pairs) sum += value * weight;
  return sum / total_weight(pairs);
}

double weighted_quantile(Pairs pairs, double q) {
  constexpr double rounding = 1e-12;
  std::ranges::sort(pairs);
  const double wanted = q * total_weight(pairs) - rounding;
  double reached = 0;
  for (const auto& [value, weight] : pairs) {
    reached += weight;
    if (reached >= wanted) return value;
  }
  return pairs.back().first;
}

bool all_weigh_the_same(const Pairs& pairs) {
  return std::ranges::all_of(pairs,
                             [&](const auto& pair) { return pair.second == pairs[0].second; });
}

double weighted_median(Pairs pairs) {
  if (!all_weigh_the_same(pairs)) return weighted_quantile(std::move(pairs), 0.5);
  std::ranges::sort(pairs);
  const std::size_t middle = pairs.size() / 2;
  if (pairs.size() % 2 == 1) return pairs[middle].first;
  return 0.5 * (pairs[middle - 1].first + pairs[middle].first);
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> correlation_of(const std::vector<Weighted>& all) {
  std::vector<double> measured;
  std::vector<double> predicted;
  for (const Weighted& one : all) {
    if (!one.item.predicted) continue;
    measured.push_back(one.item.measured);
    predicted.push_back(*one.item.predicted);
  }
  if (measured.size() < 3) return {};
  return rank_correlation(mean_ranks(measured), mean_ranks(predicted));
}

Score score_of(const std::vector<Weighted>& all) {
  Pairs errors;
  Pairs sizes;
  Pairs covered;
  Pairs widths;
  Score score;
  score.items = all.size();
  for (const auto& [item, weight] : all) {
    errors.emplace_back(item.error(), weight);
    sizes.emplace_back(std::abs(item.error()), weight);
    covered.emplace_back(item.is_covered() ? 1.0 : 0.0, weight);
    if (item.has_interval())
      widths.emplace_back((*item.high - *item.low) / *item.predicted, weight);
    if (!item.predicted) ++score.missing;
  }
  score.mean = weighted_mean(sizes);
  score.median = weighted_median(sizes);
  score.bias = weighted_mean(errors);
  score.p90 = weighted_quantile(sizes, 0.9);
  score.max = std::ranges::max(sizes).first;
  score.coverage = weighted_mean(covered);
  if (!widths.empty()) score.width = weighted_median(widths);
  score.rank_correlation = correlation_of(all);
  return score;
}

std::map<std::string, std::vector<Weighted>> by_group(std::span<const JudgedCase> cases) {
  std::map<std::string, std::vector<Weighted>> groups;
  for (const JudgedCase& judged : cases) {
    for (const JudgedItem& item : judged.items) groups[judged.group].push_back({item, 1});
  }
  return groups;
}

ScoredPredictions scored(const CaseFile& file, const NamedPredictions& named,
                         const CaseChoice& choice) {
  ScoredPredictions scored;
  scored.name = named.name;
  scored.doc = named.doc;
  scored.judged = judge_cases(file, named.predictions, choice);
  scored.score = score(scored.judged);
  return scored;
}

/// The score of the cases that are covered; no group if none is.
ScoredPredictions scored_where_covered(const CaseFile& file, const NamedPredictions& named,
                                       const CaseChoice& choice) {
  ScoredPredictions scored{named.name, named.doc, judge_cases(file, named.predictions, choice), {}};
  std::erase_if(scored.judged, [](const JudgedCase& judged) { return judged.is_missing(); });
  if (!scored.judged.empty()) scored.score = score(scored.judged);
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

GroupedScore score(std::span<const JudgedCase> cases) {
  EXPECT(!cases.empty());
  GroupedScore scores;
  std::vector<Weighted> all;
  std::vector<double> correlations;
  for (const auto& [group, members] : by_group(cases)) {
    const Score of_group = score_of(members);
    if (of_group.rank_correlation) correlations.push_back(*of_group.rank_correlation);
    scores.groups.emplace(group, of_group);
    const double weight = 1.0 / static_cast<double>(members.size());
    for (const Weighted& member : members) all.push_back({member.item, weight});
  }
  scores.overall = score_of(all);
  scores.overall.rank_correlation.reset();
  if (!correlations.empty()) scores.overall.rank_correlation = mean_of(correlations);
  return scores;
}

std::vector<std::string> ScoreReport::missing() const {
  std::vector<std::string> ids;
  for (const JudgedCase& judged : predictions.judged) {
    if (judged.is_missing()) ids.push_back(judged.id);
  }
  return ids;
}

ScoreReport score_report(const CaseFile& file, const NamedPredictions& predictions,
                         std::span<const NamedPredictions> baselines, const CaseChoice& choice,
                         std::span<const NamedPredictions> by_sheets) {
  ScoreReport report;
  report.cases = file.path;
  report.choice = choice;
  report.of_curves = file.holds_curves();
  report.predictions = scored(file, predictions, choice);
  for (const NamedPredictions& baseline : baselines) {
    if (covers_any(baseline)) report.baselines.push_back(scored(file, baseline, choice));
  }
  for (const NamedPredictions& each : by_sheets) {
    report.by_sheets.push_back(scored_where_covered(file, each, choice));
  }
  report.by_nodes = scores_by_nodes(file, predictions, choice);
  report.choices = plan_choices(file, report.predictions.judged);
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
