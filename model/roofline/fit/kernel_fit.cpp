#include "model/roofline/fit/kernel_fit.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "model/roofline/fit/beyond_fits.hpp"
#include "model/roofline/fit/fold_fits.hpp"

namespace dlscale::model {
namespace {

constexpr int least_kernels = 3;

std::set<std::string> kernels_of(const SamplePointers& samples) {
  std::set<std::string> kernels;
  for (const KernelSample* sample : samples) kernels.insert(sample->what.kernel);
  return kernels;
}

/// Order statistics that leave (1 - 0.95) / 2 of new values outside on each side. With too few
/// ratios they are the extremes [V. Vovk et al., Algorithmic Learning in a Random World, 2005,
/// section 2.2].
void set_interval(std::vector<double> ratios, KernelModel& model) {
  if (ratios.empty()) return;
  std::ranges::sort(ratios);
  const auto n = static_cast<double>(ratios.size());
  const auto rank = std::min(n, std::ceil(0.975 * (n + 1)));
  const auto high = static_cast<std::size_t>(rank) - 1;
  model.ratio_high = std::max(1.0, ratios[high]);
  model.ratio_low = std::min(1.0, ratios[ratios.size() - 1 - high]);
}

MeasuredWorkspaces workspaces_of(const SamplePointers& samples) {
  MeasuredWorkspaces workspaces;
  for (const KernelSample* sample : samples) {
    const KernelCase& what = sample->what;
    if (declares_workspace(what.way) || !sample->workspace) continue;
    workspaces[{what.kernel, what.batch}] = *sample->workspace;
  }
  return workspaces;
}

/// The upper end of the interval of the fastest sample. Requires at least one sample.
Seconds fastest_of(const SamplePointers& samples) {
  return (*std::ranges::min_element(samples, {},
                                    [](const KernelSample* sample) { return sample->time; }))
      ->high;
}

/// The highest rates of all ways with the same number of threads, on a processor or on a GPU.
Roofline highest_rates(std::span<const KernelSample> samples, const Way& as) {
  Roofline roofline;
  for (const KernelSample& sample : samples) {
    const Way& way = sample.what.way;
    if (way.threads != as.threads || way.on_device() != as.on_device()) continue;
    roofline.peak = std::max(roofline.peak, sample.what.work.flops() / sample.time);
    roofline.bandwidth = std::max(roofline.bandwidth, sample.what.work.bytes() / sample.time);
  }
  return roofline;
}

/// Whether backend, family of methods, threads and caches agree; passes and tile sizes may differ.
bool are_kin(const Way& a, const Way& b) {
  const auto family = [](const Way& way) {
    const std::string_view name = lowering::method_name(way.method);
    return name.substr(0, name.find('_'));
  };
  return a != b && a.backend == b.backend && family(a) == family(b) && a.threads == b.threads &&
         a.cache == b.cache;
}

/// Ratios of left-out samples, by way with a model.
using Ratios = std::map<Way, std::vector<double>>;

/// The ratios of a way. Fewer than 39, whose extremes hold less than 95 % of new values, are joined
/// by those of its kin.
std::vector<double> ratios_for(const Way& way, const Ratios& ratios) {
  constexpr std::size_t enough = 39;
  std::vector<double> result = ratios.at(way);
  if (result.size() >= enough) return result;
  for (const auto& [other, others] : ratios) {
    if (are_kin(way, other)) std::ranges::copy(others, std::back_inserter(result));
  }
  return result;
}

/// Whether two ways have the same backend and the same condition.
bool are_of_one_backend(const Way& a, const Way& b) {
  return a.backend == b.backend && a.threads == b.threads && a.cache == b.cache;
}

/// Sets the widening of all models, whose ratios are set; one model for each of `fitted`.
void set_widening(std::span<const FittedWay> fitted, std::vector<KernelModel>& models) {
  std::vector<std::vector<double>> excesses(models.size());
  for (std::size_t i = 0; i < models.size(); ++i) {
    const LogInterval interval{std::log(models[i].ratio_low), std::log(models[i].ratio_high)};
    for (const BeyondSample& sample : predicted_beyond(fitted[i])) {
      excesses[i].push_back(excess_per_octave(sample, interval));
    }
  }
  for (KernelModel& model : models) {
    std::vector<double> all;
    for (std::size_t i = 0; i < models.size(); ++i) {
      if (are_of_one_backend(models[i].way, model.way)) {
        std::ranges::copy(excesses[i], std::back_inserter(all));
      }
    }
    model.widening = widening_of(std::move(all));
  }
}

KernelModel make_model(const FittedWay& fitted, const Roofline& naive) {
  const SamplePointers& samples = fitted.evidence.own;
  KernelModel model;
  model.way = fitted.way;
  model.vector_floats = samples.front()->what.vector_floats;
  model.parameters = fitted.whole.parameters;
  model.caches = fitted.whole.caches;
  model.seen = fitted.whole.seen;
  const SizeRange range = range_of(samples);
  model.least = range.least;
  model.greatest = range.greatest;
  model.fastest = fastest_of(samples);
  model.naive = naive;
  model.kernels = static_cast<int>(kernels_of(samples).size());
  model.samples = static_cast<int>(samples.size());
  model.workspaces = workspaces_of(samples);
  return model;
}

/// Fits of all ways with enough shapes; `skipped` names the others.
std::vector<FittedWay> fit_ways(std::span<const KernelSample> samples,
                                std::vector<std::string>& skipped) {
  std::map<Way, SamplePointers> by_way;
  for (const KernelSample& sample : samples) by_way[sample.what.way].push_back(&sample);
  std::vector<FittedWay> fitted;
  for (const auto& [way, own] : by_way) {
    if (static_cast<int>(kernels_of(own).size()) < least_kernels) {
      skipped.push_back(way.algorithm() + " " + std::string(pass_name(way.pass)));
      continue;
    }
    FitEvidence evidence{own, {}};
    for (const auto& [other, others] : by_way) {
      if (are_kin(way, other)) std::ranges::copy(others, std::back_inserter(evidence.kin));
    }
    fitted.push_back(fit_way(way, std::move(evidence)));
  }
  return fitted;
}

}  // namespace

KernelModels fit_kernels(std::span<const KernelSample> samples, std::vector<std::string>& skipped) {
  const std::vector<FittedWay> fitted = fit_ways(samples, skipped);
  const CrossValidation validation = cross_validate(fitted);
  KernelModels models;
  Ratios ratios;
  for (std::size_t i = 0; i < fitted.size(); ++i) {
    KernelModel model = make_model(fitted[i], highest_rates(samples, fitted[i].way));
    if (validation.strength) {
      model.correction = correction_of(fitted[i], fitted, *validation.strength);
    }
    models.models.push_back(std::move(model));
    ratios[fitted[i].way] = validation.ratios[i];
  }
  for (KernelModel& model : models.models) set_interval(ratios_for(model.way, ratios), model);
  set_widening(fitted, models.models);
  return models;
}

}  // namespace dlscale::model
