#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/cluster/device_file.hpp"
#include "model/published/cases/prediction.hpp"

namespace dlscale::model {

/// Half the width of the interval that every baseline states, as a fraction of its value.
inline constexpr double baseline_interval = 0.2;

/// A naive predictor of trainings: what any model has to be better than.
struct TrainingBaseline {
  std::string_view name;
  std::string_view doc;
  /// Time of an iteration. Requires a given point.
  Seconds (*iteration)(const cases::ScalingCase& training);
};

/// A naive predictor of trainings of transformers of which no measured point is given:
///   t = 6 N D / (s P)
/// N: parameters that a token takes; D: tokens of an iteration on a GPU; s: of_peak; P: peak of the
/// GPU's data sheet, dense, in the precision of the training. Blind to attention, recomputing,
/// communication and how the work is split.
struct ColdBaseline {
  std::string_view name;
  std::string_view doc;
  double of_peak = 1;  ///< share of its peak that a GPU computes at, > 0
};

/// A naive predictor of curves.
struct CurveBaseline {
  std::string_view name;
  std::string_view doc;
  /// A time for each size asked; nothing where the given curves do not suffice.
  std::optional<std::vector<Seconds>> (*times)(const cases::CurveCase& curve);
};

/// linear, bsp_ring, wfbp_ideal.
std::span<const TrainingBaseline> training_baselines();
/// mfu40, peak.
std::span<const ColdBaseline> cold_baselines();
/// alpha_beta, loglog.
std::span<const CurveBaseline> curve_baselines();

/// Samples a second with ± 20 %, one prediction a case; cases without a given point are not
/// covered.
std::vector<cases::CasePrediction> predict(const TrainingBaseline& baseline,
                                           std::span<const cases::ScalingCase> trainings);
/// Seconds with ± 20 %, one prediction a case; what has a given point, tells no tokens, or has no
/// data sheet with a peak in its precision is not covered.
std::vector<cases::CasePrediction> predict(const ColdBaseline& baseline,
                                           std::span<const cases::ScalingCase> trainings,
                                           const DeviceCatalogue& devices);
/// Seconds with ± 20 %, one prediction a curve; curves that it cannot tell are not covered.
std::vector<cases::CasePrediction> predict(const CurveBaseline& baseline,
                                           std::span<const cases::CurveCase> curves);

/// Ring all-reduce of the whole gradient as one message, without start-up cost:
///   t = 2 (p−1)/p · M / B
/// M: bytes of the gradient; B: nominal bandwidth of the link within a node per GPU, or, where
/// p > GPUs of a node and the link between nodes is told, the lesser of both (that between nodes
/// alone where a node has one GPU). Zero for one GPU. Requires p ≥ 1.
Seconds nominal_ring(const cases::ScalingCase& training, int p);

}  // namespace dlscale::model
