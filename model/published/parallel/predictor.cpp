#include "model/published/parallel/predictor.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "model/parallel/uncertain/mixture.hpp"
#include "model/published/parallel/memory_need.hpp"
#include "model/published/parallel/training.hpp"

namespace dlscale::model::parallel_time {
namespace {

using cases::CasePrediction;
using cases::PredictedTerm;
using cases::ScalingCase;
using parallel::Recompute;

std::vector<PredictedTerm> terms_of(const IterationTime& time, const PlanSizes& plan,
                                    double waits) {
  const double m = plan.micro_batches;
  const double layers = m * time.busiest_layers;
  const auto term = [](std::string name, double seconds) {
    return PredictedTerm{std::move(name), Seconds(std::max(0.0, seconds)), "data sheet"};
  };
  return {term("layers forward", layers * time.layer.layer.forward),
          term("layers backward", layers * time.layer.layer.backward),
          term("tables", m * (time.embedding + time.head)),
          term("bubbles and stage messages", time.pipeline - m * time.slowest_stage),
          term("exposed gradients", time.exposed_gradients),
          term("update", time.update),
          term("allocator", waits)};
}

/// Prior chances of what is computed again where a run does not say it. [a judgement]
struct PossibleRecompute {
  Recompute recompute;
  double chance;
};
constexpr std::array recomputes{PossibleRecompute{Recompute::none, 0.45},
                                PossibleRecompute{Recompute::selective, 0.35},
                                PossibleRecompute{Recompute::full, 0.20}};
constexpr double ample_need = 0.8;  ///< of the device: few compute all again below it
constexpr double full_anyway = 0.3;

/// Of the time without waits, where the allocator waits for memory: the middle and the slow end.
constexpr double waiting = 3;
constexpr double longest_waiting = 6;

struct Answer {
  IterationTime time;
  double waits = 0;  ///< seconds in which the allocator waits
  PossibleTime possible;
};

Answer answer_of(const ParallelTimeFile& file, const ParallelTraining& training,
                 const MemoryNeed& need) {
  const IterationTime time = iteration_time(training.setting, training.plan);
  const TimeRange range =
      time_range(file.interval, training.setting, training.plan, time, training.interval);
  Answer answer{time, 0, {1, time.total, range.low * time.total, range.high * time.total}};
  if (need.nearly_fills()) answer.possible.high *= slow_allocator;
  if (waits_for_memory(*training.setting.family, need)) {
    answer.waits = (waiting - 1) * time.total;
    answer.possible.seconds *= waiting;
    answer.possible.high =
        std::max(answer.possible.high, longest_waiting * range.high * time.total);
  }
  return answer;
}

/// The answers for all that may be computed again, weighted by the chance that each fits.
MixedTime any_recompute(const ParallelTimeFile& file, ParallelTraining& training,
                        const DeviceSheet& device) {
  std::array<PossibleTime, recomputes.size()> ways;
  double none_need = 0;
  double sum = 0;
  for (std::size_t i = 0; i < recomputes.size(); ++i) {
    training.plan.recompute = recomputes[i].recompute;
    const double need = memory_need(training, device, recomputes[i].recompute).share;
    if (i == 0) none_need = need;
    ways[i] = answer_of(file, training, {}).possible;
    ways[i].weight = recomputes[i].chance * chance_to_fit(need);
    if (recomputes[i].recompute == Recompute::full && none_need < ample_need) {
      ways[i].weight *= full_anyway;
    }
    sum += ways[i].weight;
  }
  constexpr double hopeless = 1e-9;
  if (sum < hopeless) ways.back().weight = 1;  // none fits, and full recomputation needs least
  return mixed_time(ways);
}

CasePrediction predict_one(const ParallelTimeFile& file, const DeviceCatalogue& devices,
                           const ScalingCase& training) {
  ParallelTraining read = parallel_training(training, devices, file);
  const Links links = read.setting.collectives.links();
  read.setting = with_constants(read.setting, file.constants_for(training.set), links);
  return predict_read(file, devices, training, std::move(read));
}

}  // namespace

CasePrediction predict_read(const ParallelTimeFile& file, const DeviceCatalogue& devices,
                            const ScalingCase& training, ParallelTraining read) {
  if (!read.given.empty()) {
    const TimeConstants own = by_measured_points(file, read.setting, read.given);
    read.setting = with_constants(read.setting, own, read.setting.collectives.links());
  }
  const DeviceSheet& device = devices.at(training.cluster.gpu);
  const Answer answer = answer_of(file, read, memory_need(read, device, read.plan.recompute));
  CasePrediction prediction;
  prediction.id = training.id;
  prediction.unit = cases::CaseUnit::iteration_s;
  prediction.terms = terms_of(answer.time, read.plan, answer.waits);
  MixedTime time{answer.possible.seconds, answer.possible.low, answer.possible.high};
  if (!read.is_recompute_known) {
    time = any_recompute(file, read, device);
    prediction.reason = "recomputation is unknown: the time is a mean of all that may fit";
  }
  prediction.values = {cases::PredictedValue{time.seconds, time.low, time.high}};
  return prediction;
}

std::vector<CasePrediction> predict(const ParallelTimeFile& file, const DeviceCatalogue& devices,
                                    std::span<const ScalingCase> trainings) {
  std::vector<CasePrediction> predictions;
  predictions.reserve(trainings.size());
  for (const ScalingCase& training : trainings) {
    try {
      predictions.push_back(predict_one(file, devices, training));
    } catch (const ConfigError& error) {
      predictions.push_back(cases::not_covered(training.id, error.what()));
    }
  }
  return predictions;
}

}  // namespace dlscale::model::parallel_time
