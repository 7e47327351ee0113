#include "model/published/parallel/own_points.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "core/base/error.hpp"
#include "model/published/parallel/measured_seconds.hpp"
#include "model/published/parallel/predictor.hpp"
#include "model/published/parallel/training.hpp"

namespace dlscale::model::parallel_time {
namespace {

using cases::CasePrediction;
using cases::ScalingCase;

struct Measured {
  const ScalingCase* training;
  double seconds;
};

bool are_alike(const ScalingCase& one, const ScalingCase& other) {
  const cases::CaseParallelism& split = one.run.parallel;
  const cases::CaseParallelism& other_split = other.run.parallel;
  return one.set == other.set && one.network == other.network &&
         one.cluster.gpu == other.cluster.gpu && one.run.framework == other.run.framework &&
         one.precision == other.precision && split.tp == other_split.tp &&
         (split.pp > 1) == (other_split.pp > 1);
}

using Kin = std::vector<Measured>;

/// Whether the model covers a training that does not wait for memory, which says nothing of others.
bool is_usable(const ParallelTimeFile& file, const DeviceCatalogue& devices,
               const ScalingCase& training) {
  try {
    return !waits_for_memory(file, parallel_training(training, devices, file));
  } catch (const ConfigError&) {
    return false;
  }
}

/// Lists of trainings that are alike.
std::vector<Kin> all_kin(const ParallelTimeFile& file, const DeviceCatalogue& devices,
                         std::span<const ScalingCase> trainings,
                         std::span<const cases::Outcome> outcomes) {
  EXPECT(trainings.size() == outcomes.size());
  std::vector<Kin> lists;
  for (std::size_t i = 0; i < trainings.size(); ++i) {
    if (!outcomes[i].measured || !is_usable(file, devices, trainings[i])) continue;
    const auto found = std::ranges::find_if(
        lists, [&](const Kin& kin) { return are_alike(*kin.front().training, trainings[i]); });
    Kin& kin = found == lists.end() ? lists.emplace_back() : *found;
    kin.push_back({&trainings[i], measured_seconds(trainings[i], *outcomes[i].measured)});
  }
  return lists;
}

CasePrediction at_same_share(const ScalingCase& training, const Measured& point) {
  CasePrediction prediction;
  prediction.id = training.id;
  prediction.unit = cases::CaseUnit::iteration_s;
  const double seconds = point.seconds * training.batch_per_gpu / point.training->batch_per_gpu;
  prediction.values = {cases::PredictedValue{seconds, {}, {}}};
  return prediction;
}

CasePrediction by_point(const ParallelTimeFile& file, const DeviceCatalogue& devices,
                        const ScalingCase& training, const Measured& point) {
  ParallelTraining read = parallel_training(training, devices, file);
  const ParallelTraining of_point = parallel_training(*point.training, devices, file);
  read.setting = with_constants(read.setting,
                                reached_by(*read.setting.family, file.constants_for(training.set)),
                                read.setting.collectives.links());
  read.given.clear();
  read.given.push_back(
      {of_point.plan, of_point.setting.collectives.links(), point.seconds, of_point.schedule});
  read.is_given_plan = false;
  return predict_read(file, training, read);
}

}  // namespace

OwnPoints predict_by_own_points(const ParallelTimeFile& file, const DeviceCatalogue& devices,
                                std::span<const ScalingCase> trainings,
                                std::span<const cases::Outcome> outcomes) {
  OwnPoints points;
  for (const Kin& kin : all_kin(file, devices, trainings, outcomes)) {
    for (std::size_t i = 0; kin.size() > 1 && i < kin.size(); ++i) {
      const ScalingCase& training = *kin[i].training;
      const Measured& point = kin[(i + kin.size() / 2) % kin.size()];
      points.given.push_back(by_point(file, devices, training, point));
      points.cold.push_back(predict(file, devices, std::array{training}).front());
      points.same_share.push_back(at_same_share(training, point));
    }
  }
  return points;
}

}  // namespace dlscale::model::parallel_time
