#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/roofline/fit/choice_judge.hpp"
#include "model/roofline/kernels/kernel_model.hpp"

namespace dlscale::model {

/// Fits one model a way to its samples, by its terms (term_fit.hpp). Samples of its kin count a
/// fifth each. Kin are other passes of the algorithm, and the algorithm with tiles of another size,
/// which run the same code. A way of few shapes, or of many kin, therefore has parameters like
/// theirs. The residuals become the correction, whose strength cross-validation chooses
/// (fold_fits.hpp). Intervals come from leaving out one tenth of the shapes at a time, by
/// fold_of(), and predicting them by a fit to the others. A way with fewer than 39 such predictions
/// also counts those of its kin. Ways of fewer than 3 shapes get no model; `skipped` names them.
KernelModels fit_kernels(std::span<const KernelSample> samples, std::vector<std::string>& skipped);

/// Accuracy of a fit at shapes that it has not seen, for an algorithm with a number of threads,
/// over all passes.
struct AlgorithmErrors {
  std::string algorithm;  ///< "native winograd_f4"; "all"
  int threads = 0;        ///< 0: any number
  int kernels = 0;
  int samples = 0;
  int extrapolated = 0;
  double bias = 0;    ///< median of (predicted - measured) / measured
  double median = 0;  ///< median of its absolute value
  double p90 = 0;     ///< 90 % quantile of its absolute value
  double within = 0;  ///< share of measurements inside their interval
  double naive_median = 0, naive_p90 = 0;
  /// Median of repeat_spread() over samples that were measured several times: the typical distance
  /// of one measurement from the sample's time. Empty if no sample was repeated.
  std::optional<double> repeats = {};
};

/// A predicted and a measured time.
struct JudgedSample {
  KernelSample sample;
  KernelPrediction prediction;
  [[nodiscard]] double error() const { return (prediction.time.value - sample.time) / sample.time; }
};

struct KernelJudgement {
  std::vector<JudgedSample> samples;
  std::vector<AlgorithmErrors> algorithms;  ///< sorted by name; the last covers all algorithms
  ChoiceJudgement choice;
  /// Errors over the shapes of both halves, each predicted by the fit to the other half. They rest
  /// on twice the evidence of `algorithms` and of choice.all. No verdict rests on them. Empty, and
  /// without choices, unless JudgedHalves::both is given.
  std::vector<AlgorithmErrors> algorithms_of_both_halves = {};
  ChoicePart choice_of_both_halves = {};
  int training_kernels = 0;
  int not_judged = 0;  ///< samples of ways without a model
  /// Left-out samples by algorithm. The fit has not seen a part of their work and cannot predict
  /// their time, so choose() does not name them either: KernelModel::tells().
  std::map<std::string, int> not_told = {};
};

/// The halves of the shapes that a judgement covers.
enum class JudgedHalves {
  judging,  ///< the half that is not fitted to
  both,     ///< additionally both halves, each by a fit to the other
};

/// Fits to the training half and judges on the other: half_of(). Throws ConfigError if a half is
/// empty or no sample remains to be judged.
KernelJudgement judge_kernels(std::span<const KernelSample> samples, const ChoiceEvidence& evidence,
                              JudgedHalves halves = JudgedHalves::judging);

}  // namespace dlscale::model
