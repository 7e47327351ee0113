#include "model/roofline/fit/fold_fits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <numbers>
#include <utility>

#include "model/roofline/fit/split.hpp"

namespace dlscale::model {
namespace {

constexpr int folds = 10;
constexpr std::uint64_t fold_salt = 1;
constexpr double other_pass_importance = 0.3;

constexpr std::array reaches{0.5, 1.0, 2.0};
constexpr std::array priors{0.5, 1.0, 2.0, 4.0};
constexpr std::size_t strengths = reaches.size() * priors.size();

int fold_of(const KernelSample& sample) {
  return model::fold_of(sample.what.kernel, folds, fold_salt);
}

/// The evidence for which `holds`.
template <class Holds>
FitEvidence selected(const FitEvidence& evidence, const Holds& holds) {
  FitEvidence result;
  std::ranges::copy_if(evidence.own, std::back_inserter(result.own), holds);
  std::ranges::copy_if(evidence.kin, std::back_inserter(result.kin), holds);
  return result;
}

bool are_passes_of_one(const Way& a, const Way& b) {
  return a.backend == b.backend && a.method == b.method && a.threads == b.threads &&
         a.cache == b.cache;
}

/// ln (measured / fitted). Empty where the fit cannot predict all of the time, or predicts 0.
std::optional<double> log_ratio(const KernelSample& sample, const TermFit& fit) {
  const KernelTerms terms = terms_of(sample.what, fit.caches);
  const Seconds fitted = time_of(terms, fit.parameters);
  if (!fit.tells(terms) || !(fitted.si() > 0)) return std::nullopt;
  return std::log(sample.time / fitted);
}

/// Residuals of the samples for which `holds`. `fit_of` (FittedWay) gives their fit, or nullptr.
template <class FitOf, class Holds>
std::vector<Residual> residuals_of(const FittedWay& fitted, std::span<const FittedWay> all,
                                   const FitOf& fit_of, const Holds& holds) {
  std::vector<Residual> residuals;
  for (const FittedWay& other : all) {
    const TermFit* fit = fit_of(other);
    if (!are_passes_of_one(fitted.way, other.way) || fit == nullptr) continue;
    const double importance = other.way == fitted.way ? 1 : other_pass_importance;
    for (const KernelSample* sample : other.evidence.own) {
      const auto ratio = holds(sample) ? log_ratio(*sample, *fit) : std::nullopt;
      if (!ratio) continue;
      residuals.push_back({log_sizes(sample->what),
                           std::clamp(*ratio, -largest_residual, largest_residual), importance});
    }
  }
  return residuals;
}

/// A sample that a fit has not seen: ln (measured / predicted) without correction, and with the
/// correction of each strength.
struct LeftOutSample {
  double uncorrected = 0;
  std::array<double, strengths> corrected{};
};

LeftOutSample left_out(double ratio, const std::vector<Residual>& residuals, const LogSizes& at) {
  LeftOutSample sample{ratio, {}};
  std::size_t i = 0;
  for (const double reach : reaches) {
    const NearbyResiduals sum = nearby(residuals, at, reach);
    for (const double prior : priors) sample.corrected.at(i++) = ratio - sum.mean(prior);
  }
  return sample;
}

std::vector<LeftOutSample> left_out_samples(const FittedWay& fitted,
                                            std::span<const FittedWay> all) {
  std::vector<LeftOutSample> samples;
  for (int fold = 0; fold < folds; ++fold) {
    const auto fit_of = [fold](const FittedWay& way) {
      const auto& fit = way.without.at(static_cast<std::size_t>(fold));
      return fit ? &*fit : nullptr;
    };
    const TermFit* fit = fit_of(fitted);
    if (fit == nullptr) continue;
    const auto is_out = [fold](const KernelSample* sample) { return fold_of(*sample) == fold; };
    const auto residuals = residuals_of(fitted, all, fit_of, std::not_fn(is_out));
    for (const KernelSample* sample : fitted.evidence.own) {
      const auto ratio = is_out(sample) ? log_ratio(*sample, *fit) : std::nullopt;
      if (ratio) samples.push_back(left_out(*ratio, residuals, log_sizes(sample->what)));
    }
  }
  return samples;
}

double bounded(double log_ratio) {
  return std::min(std::abs(log_ratio), largest_residual);
}

using LeftOutSamples = std::vector<std::vector<LeftOutSample>>;

/// Index of the best strength; empty if no correction is better.
std::optional<std::size_t> best_strength(const LeftOutSamples& samples) {
  double uncorrected = 0;
  std::array<double, strengths> sums{};
  for (const auto& of_way : samples) {
    for (const LeftOutSample& sample : of_way) {
      uncorrected += bounded(sample.uncorrected);
      for (std::size_t i = 0; i < strengths; ++i) sums.at(i) += bounded(sample.corrected.at(i));
    }
  }
  const auto* best = std::ranges::min_element(sums);
  if (*best >= uncorrected) return std::nullopt;
  return static_cast<std::size_t>(best - sums.begin());
}

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

FittedWay fit_way(const Way& way, FitEvidence evidence) {
  FittedWay fitted{way, std::move(evidence), {}, {}};
  fitted.whole = fit_terms(fitted.evidence);
  for (int fold = 0; fold < folds; ++fold) {
    const FitEvidence inside = selected(
        fitted.evidence, [fold](const KernelSample* sample) { return fold_of(*sample) != fold; });
    fitted.without.emplace_back();
    if (!inside.own.empty()) fitted.without.back() = fit_terms_at(inside, fitted.whole.caches);
  }
  return fitted;
}

Correction correction_of(const FittedWay& fitted, std::span<const FittedWay> all,
                         const Strength& strength) {
  return {strength.reach, strength.prior,
          residuals_of(
              fitted, all, [](const FittedWay& way) { return &way.whole; },
              [](const KernelSample*) { return true; })};
}

CrossValidation cross_validate(std::span<const FittedWay> fitted) {
  LeftOutSamples samples;
  samples.reserve(fitted.size());
  for (const FittedWay& way : fitted) samples.push_back(left_out_samples(way, fitted));
  const auto best = best_strength(samples);
  CrossValidation result;
  if (best) {
    result.strength = Strength{reaches.at(*best / priors.size()), priors.at(*best % priors.size())};
  }
  for (const auto& of_way : samples) {
    std::vector<double>& ratios = result.ratios.emplace_back();
    ratios.reserve(of_way.size());
    for (const LeftOutSample& sample : of_way) {
      ratios.push_back(std::exp(best ? sample.corrected.at(*best) : sample.uncorrected));
    }
  }
  return result;
}

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
