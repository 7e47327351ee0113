#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "model/published/cases/curve_case.hpp"
#include "model/published/cases/outcome.hpp"
#include "model/published/cases/scaling_case.hpp"

namespace dlscale::cases {

/// A predicted number, in the unit of its prediction.
struct PredictedValue {
  double value = 0;                 ///< > 0
  std::optional<double> low = {};   ///< ≥ 0; both or neither: the 90 % interval
  std::optional<double> high = {};  ///< ≥ low, > 0
  bool operator==(const PredictedValue&) const = default;
};

/// A part of a predicted time, which may be hidden behind others.
struct PredictedTerm {
  std::string name;   ///< "forward", "exposed communication"
  Seconds time = {};  ///< ≥ 0
  /// "measured", "interpolated", "extrapolated", "data sheet", "fitted", "assumed"; may be empty
  std::string basis = {};
  bool operator==(const PredictedTerm&) const = default;
};

/// outside_domain: there is a value, of a case unlike those that the model is for.
enum class PredictionStatus { ok, outside_domain, not_covered };
std::string_view to_string(PredictionStatus status);
std::string_view to_string(CaseUnit unit);

/// What a predictor says of one case, be it a training or a curve.
struct CasePrediction {
  std::string id;
  PredictionStatus status = PredictionStatus::ok;
  std::string reason = {};  ///< of a status other than ok; else what there is to know besides
  CaseUnit unit = CaseUnit::samples_per_s;
  /// One of a training; of a curve one for each size asked, nothing where there is none. Empty
  /// where the case is not covered.
  std::vector<std::optional<PredictedValue>> values = {};
  std::vector<PredictedTerm> terms = {};
  bool operator==(const CasePrediction&) const = default;
};

/// What predicts trainings, and what predicts curves: neither can see what was measured. As many
/// predictions as cases, in their order.
using TrainingPredictor = std::vector<CasePrediction>(std::span<const ScalingCase>);
using CurvePredictor = std::vector<CasePrediction>(std::span<const CurveCase>);

/// A prediction of a case that the model does not cover, and why.
CasePrediction not_covered(std::string id, std::string reason);

}  // namespace dlscale::cases
