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

/// A number that was measured, and what was predicted of it in the same unit.
struct JudgedItem {
  double measured = 0;                   ///< > 0
  std::optional<double> predicted = {};  ///< > 0; none: missing
  std::optional<double> low = {};        ///< both or neither: the interval
  std::optional<double> high = {};
  std::optional<Bytes> bytes = {};  ///< the size, of a number of a curve
  /// (predicted − measured) / measured; −1 where the prediction is missing.
  [[nodiscard]] double error() const;
  [[nodiscard]] bool has_interval() const { return predicted && low && high; }
  /// Whether the measured number lies in the interval; not without one.
  [[nodiscard]] bool is_covered() const;
};

/// A case that was measured beside its prediction: one item, or of a curve one for each size.
struct JudgedCase {
  std::string id;
  std::string group;
  cases::CaseUnit unit = cases::CaseUnit::samples_per_s;  ///< of all items: that of the measured
  std::vector<JudgedItem> items = {};
  cases::PredictionStatus status = cases::PredictionStatus::ok;
  std::string reason = {};  ///< why there is no prediction, or a doubtful one
  std::vector<cases::PredictedTerm> terms = {};
  [[nodiscard]] bool is_missing() const;
};

/// The numbers of one case. A prediction of a training in the other unit is converted through the
/// global batch, by which the ends of its interval change places. A prediction that is absent, of
/// another kind or of another number of sizes is missing. `prediction` may be null.
std::vector<JudgedItem> judged_items(const cases::ScalingCase& training,
                                     const cases::Measured& measured,
                                     const cases::CasePrediction* prediction);
std::vector<JudgedItem> judged_items(const cases::CurveCase& curve, const cases::Measured& measured,
                                     const cases::CasePrediction* prediction);

/// Cases of how many nodes are scored. A curve that does not tell is of neither.
enum class NodeChoice { any, one, several };
std::string_view to_string(NodeChoice choice);

/// Which cases are scored, and how they are grouped.
struct CaseChoice {
  std::string by = "set";    ///< dotted name of a field: "run.overlap", "nodes"
  std::string quality = {};  ///< letters of the qualities that are kept; empty: all
  NodeChoice nodes = NodeChoice::any;
};

/// The cases of a file that were measured and are of the qualities and nodes chosen, each beside
/// the prediction with its id. Throws ConfigError where no case is left, or none has the field.
std::vector<JudgedCase> judge_cases(const cases::CaseFile& file,
                                    std::span<const cases::CasePrediction> predictions,
                                    const CaseChoice& choice);

/// The same, but that there may be none. Requires a field that cases have.
std::vector<JudgedCase> chosen_cases(const cases::CaseFile& file,
                                     std::span<const cases::CasePrediction> predictions,
                                     const CaseChoice& choice);

/// Ids of predictions that are of no case of the file, in the order of the predictions.
std::vector<std::string> unknown_ids(const cases::CaseFile& file,
                                     std::span<const cases::CasePrediction> predictions);

}  // namespace dlscale::report
