#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/cluster/device_file.hpp"
#include "model/published/cases/prediction.hpp"

namespace dlscale::model {

/// Half the width of every baseline's interval, as a fraction of its value.
inline constexpr double baseline_interval = 0.2;

/// A naive predictor of trainings, which every model must beat.
struct TrainingBaseline {
  std::string_view name;
  std::string_view doc;
  /// Time of an iteration. Requires at least one given point.
  Seconds (*iteration)(const cases::ScalingCase& training);
};

/// A naive predictor of trainings of transformers without a given point:
///   t = 6 N D / (s P)
/// N: parameters that a token uses; D: tokens of an iteration on a GPU; s: of_peak; P: peak of the
/// GPU's data sheet, dense, in the precision of the training. It ignores attention, recomputing,
/// communication and the kinds of parallelism.
struct ColdBaseline {
  std::string_view name;
  std::string_view doc;
  double of_peak = 1;  ///< share of its peak at which a GPU computes, > 0
};

/// A naive predictor of curves.
struct CurveBaseline {
  std::string_view name;
  std::string_view doc;
  /// A time for each size asked; empty if the given curves do not suffice.
  std::optional<std::vector<Seconds>> (*times)(const cases::CurveCase& curve);
};

/// The baselines linear, bsp_ring and wfbp_ideal.
std::span<const TrainingBaseline> training_baselines();
/// The baselines mfu40 and peak.
std::span<const ColdBaseline> cold_baselines();
/// The baselines alpha_beta and loglog.
std::span<const CurveBaseline> curve_baselines();

/// Predicts samples a second with ± 20 %, one prediction a case. Cases without a given point are
/// not covered.
std::vector<cases::CasePrediction> predict(const TrainingBaseline& baseline,
                                           std::span<const cases::ScalingCase> trainings);
/// Predicts seconds with ± 20 %, one prediction a case. Cases are not covered if they have a given
/// point, no tokens, or no data sheet with a peak in their precision.
std::vector<cases::CasePrediction> predict(const ColdBaseline& baseline,
                                           std::span<const cases::ScalingCase> trainings,
                                           const DeviceCatalogue& devices);
/// Predicts seconds with ± 20 %, one prediction a curve. Curves that it cannot predict are not
/// covered.
std::vector<cases::CasePrediction> predict(const CurveBaseline& baseline,
                                           std::span<const cases::CurveCase> curves);

/// Ring all-reduce of the whole gradient as one message, without start-up cost:
///   t = 2 (p−1)/p · M / B
/// M: bytes of the gradient; B: nominal bandwidth within a node per GPU. If p > GPUs of a node and
/// the bandwidth between nodes is known, B is the lesser of the two. It is the one between nodes
/// alone if a node has one GPU. The time is 0 for one GPU. Requires p ≥ 1.
Seconds nominal_ring(const cases::ScalingCase& training, int p);

}  // namespace dlscale::model
