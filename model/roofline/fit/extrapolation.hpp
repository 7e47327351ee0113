#pragma once
#include <span>
#include <vector>

#include "model/roofline/fit/fold_fits.hpp"
#include "model/roofline/kernels/kernel_model.hpp"

namespace dlscale::model {

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
