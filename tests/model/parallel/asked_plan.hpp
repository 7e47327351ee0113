#pragma once
#include <cmath>
#include <stdexcept>
#include <string>

#include "core/cluster/device_file.hpp"
#include "core/cluster/device_memory.hpp"
#include "core/parallel/plan_text.hpp"
#include "model/parallel/answer/answer.hpp"
#include "model/published/cases/case_file.hpp"
#include "model/published/parallel/training.hpp"

/// Plans of a user for published trainings.
namespace dlscale::model::parallel_time {

inline const DeviceCatalogue& sheets() {
  static const DeviceCatalogue all = DeviceCatalogue::load();
  return all;
}

inline cases::ScalingCase training_of(const std::string& part) {
  for (const auto& one :
       cases::read_cases(DLSCALE_SOURCE_DIR "/tests/data/parallel_times.jsonl").trainings) {
    if (one.id.find(part) != std::string::npos) return one;
  }
  throw std::runtime_error("no case " + part);
}

/// A published training, and its plan as a user writes it.
struct AskedCase {
  std::string id;
  std::string plan;
};

class Asked {
 public:
  Asked(const cases::ScalingCase& training, const std::string& plan)
      : read_(parallel_training(training, sheets(), parallel_times())),
        plan_(parallel::parse_plan(plan)) {
    question_.shape = read_.setting.shape;
    question_.global_batch = std::llround(training.global_batch);
    question_.precision = parse_precision(training.precision);
    question_.framework = training.run.framework;
    if (training.run.parallel.compile) plan_.compile = training.run.parallel.compile;
    if (training.run.parallel.async_tp) plan_.tensor_overlap = training.run.parallel.async_tp;
    hardware_.device = sheets().at(training.cluster.gpu);
    hardware_.memory = usable_memory(hardware_.device.memory).si();
    hardware_.links = read_.setting.collectives.links();
  }

  [[nodiscard]] Setting setting() const {
    return setting_of(parallel_times(), question_, hardware_);
  }
  [[nodiscard]] ParallelAnswer answer() const { return answer(plan_); }
  [[nodiscard]] ParallelAnswer answer(const parallel::ParallelPlan& plan) const {
    return predict_plan(parallel_times(), question_, hardware_, setting(), plan);
  }
  [[nodiscard]] const parallel::ParallelPlan& plan() const { return plan_; }
  [[nodiscard]] const ParallelQuestion& question() const { return question_; }
  ParallelHardware& hardware() { return hardware_; }
  /// Seconds of a step of the same plan by another framework.
  [[nodiscard]] double seconds_by(const char* framework) const {
    ParallelQuestion other = question_;
    other.framework = framework;
    const Setting setting = setting_of(parallel_times(), other, hardware_);
    return predict_plan(parallel_times(), other, hardware_, setting, plan_).seconds();
  }

 private:
  ParallelTraining read_;
  parallel::ParallelPlan plan_;
  ParallelQuestion question_;
  ParallelHardware hardware_;
};

inline Asked asked(const AskedCase& one) {
  return {training_of(one.id), one.plan};
}

}  // namespace dlscale::model::parallel_time
