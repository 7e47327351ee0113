#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "model/published/cases/curve_case.hpp"
#include "model/published/cases/scaling_case.hpp"

namespace dlscale::cases {

/// The meaning of a measured or predicted number: samples a second of the whole job, seconds of an
/// iteration, or seconds of a collective.
enum class CaseUnit { samples_per_s, iteration_s, time_s };

/// Published measurements of a case.
struct Measured {
  CaseUnit unit = CaseUnit::samples_per_s;
  std::vector<double> values = {};       ///< > 0: one, or one for each size of a curve
  std::vector<double> noise = {};        ///< ≥ 0, relative: as many as values; empty: not stated
  std::optional<double> deviation = {};  ///< ≥ 0: standard deviation of values[0], in its unit
};

/// The answer to a case, stored beside it. Predictors never see it; only the scoring of predictions
/// does.
struct Outcome {
  std::optional<Measured> measured = {};  ///< empty: the case can be predicted but not scored
  /// "A": number and configuration are printed in full; "B": some of it is from elsewhere or
  /// coarse; "C": doubtful; empty: not stated.
  std::string quality = {};
  std::optional<double> weight = {};  ///< > 0: 1 / number of the set's cases in the file
  /// All plain values of the line by their dotted names, for grouping: "run.overlap" to "bucketed".
  /// Numbers and null are written as in Python ("8", "0.5", "None").
  std::map<std::string, std::string> fields = {};
};

/// A predicted number, in the unit of its prediction.
struct PredictedValue {
  double value = 0;                 ///< > 0
  std::optional<double> low = {};   ///< ≥ 0; the 90 % interval has both ends or none
  std::optional<double> high = {};  ///< ≥ low, > 0
  bool operator==(const PredictedValue&) const = default;
};

/// A part of a predicted time, which other parts may hide.
struct PredictedTerm {
  std::string name;   ///< "forward", "exposed communication"
  Seconds time = {};  ///< ≥ 0
  /// "measured", "interpolated", "extrapolated", "data sheet", "fitted", "assumed"; may be empty
  std::string basis = {};
  bool operator==(const PredictedTerm&) const = default;
};

/// A measured point that a training is predicted from: its share of the GPUs and its speed.
struct ScaledFrom {
  int gpus = 1;              ///< ≥ 1
  double samples_per_s = 1;  ///< > 0, of all of them
  int to_gpus = 1;           ///< ≥ 1: of the training
  bool operator==(const ScaledFrom&) const = default;
};

/// outside_domain: there is a value, but the model is not made for such cases.
enum class PredictionStatus { ok, outside_domain, not_covered };
std::string_view to_string(PredictionStatus status);
std::string_view to_string(CaseUnit unit);

/// The prediction of one case, a training or a curve.
struct CasePrediction {
  std::string id;
  PredictionStatus status = PredictionStatus::ok;
  std::string reason = {};  ///< for a status other than ok; otherwise a further note
  CaseUnit unit = CaseUnit::samples_per_s;
  /// One value for a training; for a curve one for each size, where an entry may be empty. There
  /// are none if the case is not covered.
  std::vector<std::optional<PredictedValue>> values = {};
  std::vector<PredictedTerm> terms = {};
  /// The given point of a training. Lines then have speed-up S = X / X_0 and efficiency S N_0 / N
  /// over it, also by each end of X: X alone errs, because the point was measured. Readers leave
  /// them out.
  std::optional<ScaledFrom> from = {};
  bool operator==(const CasePrediction&) const = default;
};

/// Predictors of trainings and of curves, which cannot see measurements. They return one prediction
/// for each case, in order.
using TrainingPredictor = std::vector<CasePrediction>(std::span<const ScalingCase>);
using CurvePredictor = std::vector<CasePrediction>(std::span<const CurveCase>);

/// The prediction of a case that the model does not cover, with the reason.
CasePrediction not_covered(std::string id, std::string reason);

/// Reads predictions, one a line (docs/reference/cases.md). A line without a value is a case that
/// was not covered. Throws ConfigError that names file, line, field and reason, as read_cases()
/// does, also for an id that occurs twice.
std::vector<CasePrediction> read_predictions(const std::filesystem::path& path);

/// The lines of such a file. Requires finite numbers.
std::string prediction_lines(std::span<const CasePrediction> predictions);

}  // namespace dlscale::cases
