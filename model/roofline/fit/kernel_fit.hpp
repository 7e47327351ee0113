#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/roofline/fit/choice_judge.hpp"
#include "model/roofline/kernels/kernel_model.hpp"

namespace dlscale::model {

/// Fits one model a way to what was measured of it, by its terms (term_fit.hpp). What was measured
/// of its kin counts, too, each sample a fifth as much: other passes of the algorithm, and the same
/// with tiles of another size, which run the same code; so a way of few shapes has parameters like
/// theirs (and, where it has many kin, so has one of many shapes). What the terms leave over
/// becomes the correction, of the strength that cross-validation finds (fold_fits.hpp). Intervals
/// come from leaving out one tenth of the shapes at a time, by fold_of(), and predicting them by a
/// fit to the others; a way with fewer than 39 such predictions counts those of its kin, too. Ways
/// of fewer than 3 shapes get no model: `skipped` names them.
KernelModels fit_kernels(std::span<const KernelSample> samples, std::vector<std::string>& skipped);

/// How good a fit is at shapes that it has not seen: of an algorithm with so many threads, in all
/// passes.
struct AlgorithmErrors {
  std::string algorithm;  ///< "native winograd_f4"; "all"
  int threads = 0;        ///< 0: of any number
  int kernels = 0;
  int samples = 0;
  int extrapolated = 0;
  double bias = 0;    ///< median of (predicted - measured) / measured
  double median = 0;  ///< of its absolute value
  double p90 = 0;     ///< its 90 % quantile
  double within = 0;  ///< share of measurements inside their interval
  double naive_median = 0, naive_p90 = 0;
  /// Median of repeat_spread over samples that were measured several times: how far a measurement
  /// typically is from the time that a sample counts with. None: no sample was.
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
  std::vector<AlgorithmErrors> algorithms;  ///< sorted by name; the last is of all
  ChoiceJudgement choice;
  /// Over the shapes of both halves, each by the fit to the other half: twice the evidence of
  /// `algorithms` and of choice.all. No verdict rests on them. Empty, and without choices, where
  /// they were not asked for.
  std::vector<AlgorithmErrors> algorithms_of_both_halves = {};
  ChoicePart choice_of_both_halves = {};
  int training_kernels = 0;
  int not_judged = 0;  ///< samples of ways without a model
  /// Samples left out by algorithm, as the fit has seen nothing of a part of what they do, so that
  /// it does not tell their time, nor does choose() name them: KernelModel::tells().
  std::map<std::string, int> not_told = {};
};

/// Of which half a judgement speaks.
enum class JudgedHalves {
  judging,  ///< of the one that is not fitted to
  both,     ///< and once more of both, each by a fit to the other
};

/// Fits to the training half and judges on the other: half_of(). Throws ConfigError where a half is
/// empty, or nothing is left to judge.
KernelJudgement judge_kernels(std::span<const KernelSample> samples, const ChoiceEvidence& evidence,
                              JudgedHalves halves = JudgedHalves::judging);

}  // namespace dlscale::model
