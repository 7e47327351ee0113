#pragma once
#include <optional>
#include <span>
#include <vector>

#include "model/roofline/kernels/correction.hpp"
#include "model/roofline/kernels/kernel_model.hpp"
#include "model/roofline/kernels/term_fit.hpp"

namespace dlscale::model {

/// Fits of a way by terms: one to all samples, and one without each tenth of the shapes, by
/// fold_of().
struct FittedWay {
  Way way;
  FitEvidence evidence;
  TermFit whole;
  /// One fit a fold; empty where the way has no sample outside of the fold.
  std::vector<std::optional<TermFit>> without;
};
FittedWay fit_way(const Way& way, FitEvidence evidence);

/// Reach and prior of a Correction.
struct Strength {
  double reach, prior;
};

/// The correction of a way, from the residuals of its own samples. Residuals of other passes of its
/// algorithm also count, each 0.3 times: they meet the same shapes with almost the same code. `all`
/// has the fits of those passes.
Correction correction_of(const FittedWay& fitted, std::span<const FittedWay> all,
                         const Strength& strength);

/// Accuracy of fits at shapes that they have not seen.
struct CrossValidation {
  /// One strength for all ways: it has the least Σ min(|ln (measured / predicted)|, 0.5) over
  /// left-out samples, among reaches of ½, 1 and 2 octaves and priors of ½ to 4 samples. Empty if
  /// no correction lowers the sum.
  std::optional<Strength> strength;
  /// Corrected measured / predicted of the left-out samples of each way. The strength is chosen on
  /// the same samples, but it is only one pair of numbers for all of them.
  std::vector<std::vector<double>> ratios;
};
CrossValidation cross_validate(std::span<const FittedWay> fitted);

/// The least and the greatest value of each size among samples.
struct SizeRange {
  CaseSizes least, greatest;
};
/// Requires at least one sample.
SizeRange range_of(const SamplePointers& samples);

/// A sample that lies an octave or more beyond the range of the fit that predicts it.
struct BeyondSample {
  double octaves = 0;    ///< octaves_beyond()
  double log_ratio = 0;  ///< ln (measured / predicted)
};

/// Extrapolated samples of a way: a fit to the larger two thirds of its samples, by direct_flops(),
/// predicts the smaller third, and the reverse. Kin within the same bounds counts, too. Empty where
/// a fit has fewer than 3 samples or no other sample lies far enough away.
std::vector<BeyondSample> predicted_beyond(const FittedWay& fitted);

/// Both ends of an interval of measured / predicted, as logarithms.
struct LogInterval {
  double low = 0;   ///< ln KernelModel::ratio_low, <= 0
  double high = 0;  ///< ln KernelModel::ratio_high, >= 0
};

/// Distance of a sample outside of an interval, divided by its octaves; 0 inside.
double excess_per_octave(const BeyondSample& sample, const LogInterval& interval);

/// KernelModel::widening: the 95 % order statistic of the excesses of a backend's samples, or the
/// largest of fewer than 19. Without any it is ln 2: over one octave of all sizes a time may stay
/// constant, double, or change by a factor in between.
double widening_of(std::vector<double> excesses);

}  // namespace dlscale::model
