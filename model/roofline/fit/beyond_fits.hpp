#pragma once
#include <span>
#include <vector>

#include "model/roofline/fit/fold_fits.hpp"
#include "model/roofline/kernels/kernel_model.hpp"

namespace dlscale::model {

/// The least and the greatest of each size among samples.
struct SizeRange {
  CaseSizes least, greatest;
};
/// Requires a sample.
SizeRange range_of(const SamplePointers& samples);

/// A sample that lies an octave or more beyond the range of the fit that predicts it.
struct BeyondSample {
  double octaves = 0;    ///< octaves_beyond()
  double log_ratio = 0;  ///< ln (measured / predicted)
};

/// What fits to the larger two thirds of a way's samples say of the smaller third, and the other
/// way round, by direct_flops(); kin within the same bounds counts, too. Nothing where a fit has
/// fewer than 3 samples or the others are too near.
std::vector<BeyondSample> predicted_beyond(const FittedWay& fitted);

/// Share of its interval's ends, as a logarithm.
struct LogInterval {
  double low = 0;   ///< ln KernelModel::ratio_low, <= 0
  double high = 0;  ///< ln KernelModel::ratio_high, >= 0
};

/// By how much a sample is outside of an interval, an octave: 0 inside.
double excess_per_octave(const BeyondSample& sample, const LogInterval& interval);

/// KernelModel::widening: the 95 % order statistic of the excesses of a backend's samples, or the
/// largest of fewer than 19. Without any, ln 2: over an octave of all sizes a time stays as it is,
/// doubles, or does what lies between.
double widening_of(std::vector<double> excesses);

}  // namespace dlscale::model
