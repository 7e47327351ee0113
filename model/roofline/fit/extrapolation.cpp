#include "model/roofline/fit/extrapolation.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <numbers>

namespace dlscale::model {
namespace {

constexpr std::size_t least_samples = 3;
constexpr double least_octaves = 1;

double size_of(const KernelSample* sample) {
  return direct_flops(sample->what.shape).si();
}

/// Fits to the samples for which `inside` holds, and predicts the other samples of the way.
template <class Inside>
void predict_others(const FittedWay& fitted, const Inside& inside,
                    std::vector<BeyondSample>& found) {
  FitEvidence evidence;
  std::ranges::copy_if(fitted.evidence.own, std::back_inserter(evidence.own), inside);
  std::ranges::copy_if(fitted.evidence.kin, std::back_inserter(evidence.kin), inside);
  if (evidence.own.size() < least_samples) return;
  const TermFit fit = fit_terms_at(evidence, fitted.whole.caches);
  const SizeRange range = range_of(evidence.own);
  for (const KernelSample* sample : fitted.evidence.own) {
    if (inside(sample)) continue;
    const double octaves = octaves_beyond(sizes_of(sample->what), range.least, range.greatest);
    const KernelTerms terms = terms_of(sample->what, fit.caches);
    const Seconds predicted = time_of(terms, fit.parameters);
    const bool known = fit.tells(terms) && predicted > Seconds();
    if (octaves >= least_octaves && known) {
      found.push_back({octaves, std::log(sample->time / predicted)});
    }
  }
}

}  // namespace

SizeRange range_of(const SamplePointers& samples) {
  SizeRange range;
  range.least = range.greatest = sizes_of(samples.front()->what);
  for (const KernelSample* sample : samples) {
    const CaseSizes sizes = sizes_of(sample->what);
    for (std::size_t i = 0; i < sizes.values.size(); ++i) {
      double& least = range.least.values.at(i);
      double& greatest = range.greatest.values.at(i);
      least = std::min(least, sizes.values.at(i));
      greatest = std::max(greatest, sizes.values.at(i));
    }
  }
  return range;
}

std::vector<BeyondSample> predicted_beyond(const FittedWay& fitted) {
  std::vector<double> sizes;
  sizes.reserve(fitted.evidence.own.size());
  for (const KernelSample* sample : fitted.evidence.own) sizes.push_back(size_of(sample));
  std::ranges::sort(sizes);
  const double low = sizes[sizes.size() / 3];
  const double high = sizes[sizes.size() - 1 - sizes.size() / 3];
  std::vector<BeyondSample> found;
  predict_others(
      fitted, [low](const KernelSample* one) { return size_of(one) >= low; }, found);
  predict_others(
      fitted, [high](const KernelSample* one) { return size_of(one) <= high; }, found);
  return found;
}

double excess_per_octave(const BeyondSample& sample, const LogInterval& interval) {
  const double above = sample.log_ratio - interval.high;
  const double below = interval.low - sample.log_ratio;
  return std::max({0.0, above, below}) / sample.octaves;
}

double widening_of(std::vector<double> excesses) {
  if (excesses.empty()) return std::numbers::ln2;
  std::ranges::sort(excesses);
  const auto n = static_cast<double>(excesses.size());
  const auto rank = std::min(n, std::ceil(0.95 * (n + 1)));
  return excesses[static_cast<std::size_t>(rank) - 1];
}

}  // namespace dlscale::model
