#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "model/published/cases/case_file.hpp"
#include "model/published/cases/prediction.hpp"
#include "report/score/judged_case.hpp"
#include "report/score/score.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// What one predictor says of the cases of a file.
struct NamedPredictions {
  std::string name;  ///< "bsp_ring"
  std::string doc;   ///< what it does, in words
  std::vector<cases::CasePrediction> predictions = {};
};

/// Predictions beside what was measured, and how good they are.
struct ScoredPredictions {
  std::string name;
  std::string doc;
  std::vector<JudgedCase> judged = {};
  GroupedScore score = {};
};

/// The score of cases of so many nodes, each set weighing the same.
struct NodeScore {
  NodeChoice nodes = NodeChoice::any;
  Score score = {};
};

/// Predictions of a case file scored, with the baselines beside them.
struct ScoreReport {
  std::filesystem::path cases = {};
  CaseChoice choice = {};
  bool of_curves = false;
  ScoredPredictions predictions = {};
  std::vector<ScoredPredictions> baselines = {};  ///< those that cover a case of the file at least
  /// Of one node, then of several, whatever the cases are grouped by; none where all are of either,
  /// or only some were chosen.
  std::vector<NodeScore> by_nodes = {};
  std::size_t not_measured = 0;           ///< cases that can be predicted only
  std::vector<std::string> unknown = {};  ///< ids of predictions of no case of the file
  /// Ids of cases with a number that has no prediction, in the order of the file.
  [[nodiscard]] std::vector<std::string> missing() const;
};

/// Throws ConfigError as judge_cases() does.
ScoreReport score_report(const cases::CaseFile& file, const NamedPredictions& predictions,
                         std::span<const NamedPredictions> baselines, const CaseChoice& choice);

/// What the overall score must keep to pass; fractions.
struct ScoreLimits {
  std::optional<double> median = {};                       ///< most of the absolute error
  std::optional<double> mean = {};                         ///< most of the absolute error
  std::optional<double> bias = {};                         ///< most of its absolute value
  std::optional<std::pair<double, double>> coverage = {};  ///< least and most
};

/// A limit that was set, and what stands against it.
struct JudgedLimit {
  std::string name;  ///< "median"
  double value = 0;
  double least = 0;
  double most = 0;
  [[nodiscard]] bool is_kept() const { return value >= least && value <= most; }
};
std::vector<JudgedLimit> judged_limits(const Score& overall, const ScoreLimits& limits);

/// regression: a limit is missed; ok otherwise.
ExitCode exit_code(const ScoreReport& report, const ScoreLimits& limits);

/// The ten numbers with the largest errors, the largest first.
struct WorstItem {
  const JudgedCase* judged;
  const JudgedItem* item;
};
std::vector<WorstItem> worst_items(const std::vector<JudgedCase>& judged);

/// The largest of the terms; nothing where there are none.
const cases::PredictedTerm* largest_term(const JudgedCase& judged);

/// The term to blame for an error: the largest of those that do not come from a measurement of the
/// same training; the largest of all where all do; nothing where there are none.
const cases::PredictedTerm* blamed_term(const JudgedCase& judged);

/// Scores by group and overall, beside those of the baselines, and the worst cases. JSON:
/// {"schema": "dlscale.score", "version": 1, …}.
Document score_document(const ScoreReport& report, const ScoreLimits& limits);

}  // namespace dlscale::report
