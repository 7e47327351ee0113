#include "model/roofline/fit/kernel_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/remedy.hpp"
#include "core/base/statistics.hpp"
#include "model/roofline/fit/fold_fits.hpp"
#include "model/roofline/fit/split.hpp"

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
    const std::string_view name = convolution::method_name(way.method);
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

using Judged = std::vector<const JudgedSample*>;

AlgorithmErrors errors_of(const std::string& algorithm, int threads, const Judged& samples) {
  AlgorithmErrors result{
      .algorithm = algorithm, .threads = threads, .samples = static_cast<int>(samples.size())};
  std::vector<double> errors;
  std::vector<double> sizes;
  std::vector<double> naive;
  std::vector<double> repeats;
  std::map<std::string, int> kernels;
  double within = 0;
  for (const JudgedSample* judged : samples) {
    const Seconds measured = judged->sample.time;
    const KernelPrediction& predicted = judged->prediction;
    errors.push_back(judged->error());
    sizes.push_back(std::abs(errors.back()));
    naive.push_back(std::abs(predicted.naive / measured - 1));
    if (judged->sample.repeated()) repeats.push_back(judged->sample.repeat_spread());
    ++kernels[judged->sample.what.kernel];
    result.extrapolated += predicted.extrapolated() ? 1 : 0;
    if (predicted.time.low <= measured && measured <= predicted.time.high) ++within;
  }
  result.kernels = static_cast<int>(kernels.size());
  result.bias = median(errors);
  result.median = median(sizes);
  result.p90 = quantile(sizes, 0.9);
  result.within = within / static_cast<double>(samples.size());
  result.naive_median = median(naive);
  result.naive_p90 = quantile(naive, 0.9);
  if (!repeats.empty()) result.repeats = median(repeats);
  return result;
}

std::vector<AlgorithmErrors> errors_by_algorithm(const std::vector<JudgedSample>& samples) {
  std::map<std::pair<std::string, int>, Judged> groups;
  Judged all;
  for (const JudgedSample& judged : samples) {
    const Way& way = judged.sample.what.way;
    groups[{way.algorithm(), way.threads}].push_back(&judged);
    all.push_back(&judged);
  }
  std::vector<AlgorithmErrors> errors;
  errors.reserve(groups.size() + 1);
  for (const auto& [key, group] : groups) {
    errors.push_back(errors_of(key.first, key.second, group));
  }
  errors.push_back(errors_of("all", 0, all));
  return errors;
}

/// Predictions of samples that the models were not fitted to.
struct Predicted {
  std::vector<JudgedSample> samples = {};
  int without_model = 0;
  std::map<std::string, int> not_told = {};  ///< KernelJudgement::not_told
};

Predicted predicted(std::span<const KernelSample> unseen, const KernelModels& models) {
  Predicted result;
  for (const KernelSample& sample : unseen) {
    const KernelModel* model = models.find(sample.what.way);
    if (model == nullptr) {
      ++result.without_model;
    } else if (!model->tells(sample.what)) {
      ++result.not_told[sample.what.way.algorithm()];
    } else {
      result.samples.push_back({sample, model->predict(sample.what)});
    }
  }
  return result;
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

KernelJudgement judge_kernels(std::span<const KernelSample> samples, const ChoiceEvidence& evidence,
                              JudgedHalves halves) {
  std::vector<KernelSample> training;
  std::vector<KernelSample> judging;
  std::set<std::string> kernels;
  for (const KernelSample& sample : samples) {
    const bool trains = half_of(sample.what.kernel) == Half::training;
    (trains ? training : judging).push_back(sample);
    if (trains) kernels.insert(sample.what.kernel);
  }
  if (training.empty() || judging.empty()) {
    throw RemediableError(
        fmt::format("all {} measured convolutions stand on one side of the split, so that no fit "
                    "can be judged on what it has not seen. Measure more shapes.",
                    samples.size()),
        {.subject = "conv",
         .axes = {{"network", "resnet50,googlenet,vgg16,alexnet"}, {"algorithms", "all"}}});
  }
  std::vector<std::string> skipped;
  const KernelModels models = fit_kernels(training, skipped);
  Predicted unseen = predicted(judging, models);
  if (unseen.samples.empty()) {
    throw RemediableError(
        unseen.not_told.empty()
            ? "no algorithm was measured at 3 shapes or more of the training half, so that none "
              "has a model to judge. Measure more layers or networks."
            : "no convolution of the judging half is like one of the training half, so that no "
              "model tells its time. Measure more layers or networks.",
        {.subject = "conv", .axes = {{"algorithms", "all"}}});
  }
  KernelJudgement judgement;
  judgement.training_kernels = static_cast<int>(kernels.size());
  judgement.samples = std::move(unseen.samples);
  judgement.not_judged = unseen.without_model;
  judgement.not_told = std::move(unseen.not_told);
  judgement.algorithms = errors_by_algorithm(judgement.samples);
  judgement.choice = judge_choices(judging, models, evidence);
  if (halves == JudgedHalves::judging) return judgement;
  const KernelModels other_way = fit_kernels(judging, skipped);
  std::vector<JudgedSample> all = judgement.samples;
  std::ranges::move(predicted(training, other_way).samples, std::back_inserter(all));
  judgement.algorithms_of_both_halves = errors_by_algorithm(all);
  judgement.choice_of_both_halves =
      judge_choices(std::vector<Unseen>{{judging, models}, {training, other_way}}, evidence).all;
  return judgement;
}

}  // namespace dlscale::model
