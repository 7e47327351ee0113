#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "model/roofline/fit/kernel_fit.hpp"
#include "model/roofline/fit/split.hpp"

namespace dlscale::model {
namespace {

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
    throw ConfigError(
        fmt::format("all {} measured convolutions stand on one side of the split, so that no fit "
                    "can be judged on what it has not seen. Measure more shapes: dlscale bench "
                    "conv --network resnet50,googlenet,vgg16,alexnet --algorithms all.",
                    samples.size()));
  }
  std::vector<std::string> skipped;
  const KernelModels models = fit_kernels(training, skipped);
  Predicted unseen = predicted(judging, models);
  if (unseen.samples.empty()) {
    throw ConfigError(
        unseen.not_told.empty()
            ? "no algorithm was measured at 3 shapes or more of the training half, so that none "
              "has a model to judge. Measure more layers or networks: dlscale bench conv "
              "--algorithms all."
            : "no convolution of the judging half is like one of the training half, so that no "
              "model tells its time. Measure more layers or networks: dlscale bench conv "
              "--algorithms all.");
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
