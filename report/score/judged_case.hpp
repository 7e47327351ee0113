#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "model/published/cases/case_file.hpp"
#include "model/published/cases/prediction.hpp"

namespace dlscale::report {

/// A measured number and its prediction, in the same unit.
struct JudgedItem {
  double measured = 0;                   ///< > 0
  std::optional<double> predicted = {};  ///< > 0; absent: missing
  std::optional<double> low = {};        ///< interval, as `high`; both or neither
  std::optional<double> high = {};       ///< likewise
  std::optional<Bytes> bytes = {};       ///< message size of a number of a curve
  /// (predicted − measured) / measured; −1 where the prediction is missing.
  [[nodiscard]] double error() const;
  [[nodiscard]] bool has_interval() const { return predicted && low && high; }
  /// Whether the measured number lies in the interval; false without one.
  [[nodiscard]] bool is_covered() const;
};

/// A measured case with its prediction: one item, or one item for each size of a curve.
struct JudgedCase {
  std::string id;
  std::string group;
  /// Unit of all items: that of the measurement.
  cases::CaseUnit unit = cases::CaseUnit::samples_per_s;
  std::vector<JudgedItem> items = {};
  cases::PredictionStatus status = cases::PredictionStatus::ok;
  std::string reason = {};  ///< why the prediction is missing or doubtful
  std::vector<cases::PredictedTerm> terms = {};
  [[nodiscard]] bool is_missing() const;
};

/// The numbers of one case. A training prediction in the other unit is converted with the global
/// batch; this swaps the ends of its interval. A prediction is missing if it is absent, of another
/// kind, or has another number of sizes. `prediction` may be null.
std::vector<JudgedItem> judged_items(const cases::ScalingCase& training,
                                     const cases::Measured& measured,
                                     const cases::CasePrediction* prediction);
std::vector<JudgedItem> judged_items(const cases::CurveCase& curve, const cases::Measured& measured,
                                     const cases::CasePrediction* prediction);

/// Selects cases by their number of nodes. A curve that does not state it belongs to neither.
enum class NodeChoice { any, one, several };
std::string_view to_string(NodeChoice choice);

/// Selection and grouping of the cases to score.
struct CaseChoice {
  std::string by = "set";    ///< dotted name of a field: "run.overlap", "nodes"
  std::string quality = {};  ///< letters of the accepted qualities; empty: all
  NodeChoice nodes = NodeChoice::any;
};

/// The measured cases of a file with the chosen qualities and nodes, each with the prediction of
/// its id. Throws ConfigError if no case is left, or if none has the field.
std::vector<JudgedCase> judge_cases(const cases::CaseFile& file,
                                    std::span<const cases::CasePrediction> predictions,
                                    const CaseChoice& choice);

/// The same, but the result may be empty. Requires a field that cases have.
std::vector<JudgedCase> chosen_cases(const cases::CaseFile& file,
                                     std::span<const cases::CasePrediction> predictions,
                                     const CaseChoice& choice);

/// Ids of predictions without a case in the file, in the order of the predictions.
std::vector<std::string> unknown_ids(const cases::CaseFile& file,
                                     std::span<const cases::CasePrediction> predictions);

}  // namespace dlscale::report
