#pragma once
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "model/published/cases/case_file.hpp"
#include "model/published/cases/prediction.hpp"
#include "report/score/choice_score.hpp"
#include "report/score/judged_case.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Accuracy of predictions over a group of measured numbers. Errors are relative; a missing
/// prediction counts as −100 % and as not covered. A quantile is the smallest value at which the
/// cumulative weight reaches the fraction; the median of equal weights is the mean of the middle
/// two.
struct Score {
  std::size_t items = 0;    ///< measured numbers
  std::size_t missing = 0;  ///< items without a prediction
  double mean = 0;          ///< mean absolute error
  double median = 0;        ///< median absolute error
  double bias = 0;          ///< mean signed error
  double p90 = 0;           ///< 90 % quantile of the absolute error
  double max = 0;           ///< largest absolute error
  double coverage = 0;      ///< weight of the numbers inside their interval
  /// Median of (high − low) / predicted; absent without intervals.
  std::optional<double> width = {};
  /// Spearman's rank correlation of measured and predicted. Absent for fewer than 3 numbers, or if
  /// either side is constant.
  std::optional<double> rank_correlation = {};
};

/// Scores by group, and over all with equal weight for each group. The overall rank correlation is
/// the mean over the groups.
struct GroupedScore {
  std::map<std::string, Score> groups = {};
  Score overall = {};
};

/// Requires at least one case.
GroupedScore score(std::span<const JudgedCase> cases);

/// Predictions of one predictor for the cases of a file.
struct NamedPredictions {
  std::string name;  ///< "bsp_ring"
  std::string doc;   ///< description in words
  std::vector<cases::CasePrediction> predictions = {};
};

/// Predictions with the measured numbers, and their score.
struct ScoredPredictions {
  std::string name;
  std::string doc;
  std::vector<JudgedCase> judged = {};
  GroupedScore score = {};
};

/// Score of the cases with this choice of nodes; each set has the same weight.
struct NodeScore {
  NodeChoice nodes = NodeChoice::any;
  Score score = {};
};

/// Scored predictions of a case file, with the baselines for comparison.
struct ScoreReport {
  std::filesystem::path cases = {};
  CaseChoice choice = {};
  bool of_curves = false;
  ScoredPredictions predictions = {};
  /// Baselines that cover at least one case of the file.
  std::vector<ScoredPredictions> baselines = {};
  /// Predictions without any given point, on the cases that each covers; grouped likewise.
  std::vector<ScoredPredictions> by_sheets = {};
  /// Scores for one node, then for several, whatever the grouping. Empty if all cases are of one
  /// kind, or if only some were chosen.
  std::vector<NodeScore> by_nodes = {};
  /// Choices among measured plans of trainings beyond data parallelism.
  std::vector<PlanChoice> choices = {};
  std::size_t not_measured = 0;           ///< cases without a measurement
  std::vector<std::string> unknown = {};  ///< ids of predictions without a case in the file
  /// Ids of cases with a number that has no prediction, in the order of the file.
  [[nodiscard]] std::vector<std::string> missing() const;
};

/// `by_sheets` are predictions without any given point. Throws ConfigError as judge_cases() does.
ScoreReport score_report(const cases::CaseFile& file, const NamedPredictions& predictions,
                         std::span<const NamedPredictions> baselines, const CaseChoice& choice,
                         std::span<const NamedPredictions> by_sheets = {});

/// Limits that the overall score must meet to pass; fractions.
struct ScoreLimits {
  std::optional<double> median = {};  ///< largest allowed median absolute error
  std::optional<double> mean = {};    ///< largest allowed mean absolute error
  std::optional<double> bias = {};    ///< largest allowed absolute bias
  /// Smallest and largest allowed coverage.
  std::optional<std::pair<double, double>> coverage = {};
};

/// A limit that was set, and the value it applies to.
struct JudgedLimit {
  std::string name;  ///< "median"
  double value = 0;
  double least = 0;
  double most = 0;
  [[nodiscard]] bool is_kept() const { return value >= least && value <= most; }
};
std::vector<JudgedLimit> judged_limits(const Score& overall, const ScoreLimits& limits);

/// regression if a limit is missed; ok otherwise.
ExitCode exit_code(const ScoreReport& report, const ScoreLimits& limits);

/// An entry among the ten numbers with the largest errors.
struct WorstItem {
  const JudgedCase* judged;
  const JudgedItem* item;
};
/// The ten worst entries, largest error first.
std::vector<WorstItem> worst_items(const std::vector<JudgedCase>& judged);

/// The largest of the terms; nullptr if there are none.
const cases::PredictedTerm* largest_term(const JudgedCase& judged);

/// The term to blame for an error: the largest that was not measured on the same training. If all
/// were, the largest of all; nullptr if there are none.
const cases::PredictedTerm* blamed_term(const JudgedCase& judged);

/// Scores by group and overall, beside those of the baselines, and the worst cases. JSON:
/// {"schema": "dlscale.score", "version": 1, …}.
Document score_document(const ScoreReport& report, const ScoreLimits& limits);

}  // namespace dlscale::report
