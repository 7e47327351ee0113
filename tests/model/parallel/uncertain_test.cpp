#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/cluster/device_file.hpp"
#include "model/parallel/uncertain/mixture.hpp"
#include "model/published/cases/case_file.hpp"
#include "model/published/parallel/predictor.hpp"
#include "model/published/parallel/training.hpp"

/// Intervals, points of the user's own, and recomputation that a run does not say.
namespace dlscale::model::parallel_time {
namespace {

using parallel::Recompute;

const DeviceCatalogue& sheets() {
  static const DeviceCatalogue all = DeviceCatalogue::load();
  return all;
}

cases::ScalingCase training_of(const std::string& part) {
  for (const auto& one :
       cases::read_cases(DLSCALE_SOURCE_DIR "/tests/data/parallel_times.jsonl").trainings) {
    if (one.id.find(part) != std::string::npos) return one;
  }
  throw std::runtime_error("no case " + part);
}

cases::CasePrediction predicted(const cases::ScalingCase& training) {
  return predict(parallel_times(), sheets(), std::array{training}).front();
}
double seconds(const cases::ScalingCase& training) {
  return predicted(training).values.front()->value;
}

TEST(MixedTimes, OneWayKeepsItsInterval) {
  const MixedTime mixed = mixed_time(std::array{PossibleTime{2, 3.0, 2.5, 4.0}});
  EXPECT_NEAR(mixed.seconds, 3, 1e-12);
  EXPECT_NEAR(mixed.low, 2.5, 1e-5);
  EXPECT_NEAR(mixed.high, 4, 1e-5);
}

TEST(MixedTimes, TwoWaysSpanBoth) {
  const MixedTime mixed =
      mixed_time(std::array{PossibleTime{0.5, 1.0, 0.95, 1.06}, PossibleTime{0.5, 1.3, 1.2, 1.4}});
  EXPECT_NEAR(mixed.seconds, std::sqrt(1.3), 1e-12);
  EXPECT_GT(mixed.low, 0.95);
  EXPECT_LT(mixed.low, 1);
  EXPECT_GT(mixed.high, 1.3);
  EXPECT_LT(mixed.high, 1.4);
}

TEST(UnknownRecomputation, LiesBetweenNoneAndAll) {
  cases::ScalingCase training = training_of("mosaic_llm_foundry");
  const auto time = [&](const char* recompute) {
    training.run.parallel.recompute = recompute;
    return predicted(training);
  };
  const auto none = *time("none").values.front();
  const auto full = *time("full").values.front();
  const auto unknown = *time("unknown").values.front();
  EXPECT_GE(unknown.value, none.value);
  EXPECT_LE(unknown.value, full.value);
  EXPECT_LT(*unknown.low, unknown.value);
  EXPECT_GT(*unknown.high, unknown.value);
  EXPECT_FALSE(time("unknown").reason.empty());
}

/// Times of a training with each kind of recomputation, and without saying it.
struct KindsOfRecomputation {
  double none, selective, full, unknown;
  /// How far the unknown kind lies from none to full.
  [[nodiscard]] double fullness() const { return std::log(unknown / none) / std::log(full / none); }
  [[nodiscard]] double fullness_by_use() const {
    const RecomputeChances& chances = parallel_times().recompute;
    return chances.selective * std::log(selective / none) / std::log(full / none) + chances.full;
  }
};
KindsOfRecomputation kinds_with(int micro_batch) {
  cases::ScalingCase training = training_of("mosaic_llm_foundry");
  training.network.seq = 512;
  training.run.parallel.micro_batch = micro_batch;
  const auto time = [&](const char* recompute) {
    training.run.parallel.recompute = recompute;
    return seconds(training);
  };
  return {time("none"), time("selective"), time("full"), time("unknown")};
}

/// Use alone decides where memory is to spare, and where a training fits in no way.
TEST(UnknownRecomputation, FollowsTheChanceToFit) {
  for (const int micro_batch : {1, 4096}) {
    const KindsOfRecomputation kinds = kinds_with(micro_batch);
    EXPECT_NEAR(kinds.fullness(), kinds.fullness_by_use(), 1e-3) << micro_batch;
  }
  const KindsOfRecomputation short_of_memory = kinds_with(32);
  EXPECT_GT(short_of_memory.fullness(), short_of_memory.fullness_by_use() + 0.1);
}

/// Where memory is short, families that offload need compute less again. Others do not change.
TEST(UnknownRecomputation, IsLessFullInFamiliesThatOffload) {
  ParallelTimeFile without = parallel_times();
  for (Family& one : without.families) one.offloaded = 0;
  const auto greatest_gain = [&](const char* framework) {
    cases::ScalingCase training = training_of("mosaic_llm_foundry");
    training.run.framework = framework;
    training.run.parallel.recompute = "unknown";
    double greatest = 0;
    for (const int micro_batch : {4, 8, 16, 32}) {
      training.run.parallel.micro_batch = micro_batch;
      const double longer =
          predict(without, sheets(), std::array{training}).front().values.front()->value;
      greatest = std::max(greatest, longer / seconds(training) - 1);
    }
    return greatest;
  };
  EXPECT_GT(greatest_gain("nemo"), 0.02);
  EXPECT_EQ(greatest_gain("megatron-core"), 0);
}

TEST(MemoryNeed, FallsWithRecomputation) {
  const cases::ScalingCase training = training_of("mosaic_llm_foundry");
  const ParallelTraining read = parallel_training(training, sheets(), parallel_times());
  const auto need = [&](Recompute recompute) {
    NumberedPlan numbered = read.numbered();
    numbered.sizes.recompute = numbered.plan.recompute = recompute;
    return answer_of(parallel_times(), read.setting, numbered, read.device_bytes).need;
  };
  EXPECT_LT(need(Recompute::full).share, need(Recompute::none).share);
  EXPECT_GT(need(Recompute::full).low, 0);
}

/// The answer with a given point of its own plan and number of GPUs.
cases::PredictedValue predicted_with_point(const cases::ScalingCase& training, double measured) {
  cases::ScalingCase warm = training;
  cases::GivenPoint point;
  point.gpus = training.gpus;
  point.batch_per_gpu = training.batch_per_gpu;
  point.global_batch = training.global_batch;
  point.throughput = training.global_batch / Seconds(measured);
  warm.given = {point};
  return *predicted(warm).values.front();
}

/// A point is met, as `predict --measured` meets it, and one as predicted changes nothing.
TEST(MeasuredPoints, AreMet) {
  for (const char* part : {"1.34g-dp8-tp8-pp1", "1.34g-dp2-tp4-pp2", "vtrain"}) {
    cases::ScalingCase training = training_of(part);
    const double cold = seconds(training);
    const auto with_point = [&](double slowness) {
      return predicted_with_point(training, slowness * cold).value;
    };
    EXPECT_NEAR(with_point(1), cold, 1e-9 * cold) << part;
    EXPECT_NEAR(with_point(1.3), 1.3 * cold, 1e-9 * cold) << part;
    EXPECT_NEAR(with_point(0.9), 0.9 * cold, 1e-9 * cold) << part;
  }
}

/// Whatever is computed again was so in the measured iteration, too.
TEST(MeasuredPoints, AreMetByUnknownRecomputation) {
  for (const char* part : {"1.34g-dp8-tp8-pp1", "vtrain", "mosaic_llm_foundry"}) {
    cases::ScalingCase training = training_of(part);
    training.run.parallel.recompute = "unknown";
    const double cold = seconds(training);
    for (const double slowness : {0.7, 1.0, 1.4, 5.0}) {
      const cases::PredictedValue warm = predicted_with_point(training, slowness * cold);
      EXPECT_NEAR(warm.value / cold, slowness, 1e-9) << part;
      const double repeated = 1 + parallel_times().measured.repetition;
      EXPECT_NEAR(*warm.high / warm.value, repeated, 1e-5) << part;
      EXPECT_NEAR(warm.value / *warm.low, repeated, 1e-5) << part;
    }
  }
}

/// A point on other GPUs is likelier by one way than by others, which then weighs more.
TEST(MeasuredPoints, DecideUnknownRecomputation) {
  cases::ScalingCase training = training_of("1.34g-dp8-tp8-pp1");
  const auto at = [&](const char* recompute, double gpus, double measured_on_half) {
    cases::ScalingCase asked = training;
    asked.run.parallel.recompute = recompute;
    asked.gpus = static_cast<int>(gpus);
    asked.run.parallel.dp = static_cast<int>(gpus) / 8;
    asked.global_batch = asked.batch_per_gpu * gpus;
    if (measured_on_half > 0) {
      cases::GivenPoint point;
      point.gpus = asked.gpus / 2;
      point.batch_per_gpu = asked.batch_per_gpu;
      point.global_batch = asked.global_batch / 2;
      point.throughput = point.global_batch / Seconds(measured_on_half);
      asked.given = {point};
    }
    return seconds(asked);
  };
  const double gpus = training.gpus;
  for (const char* way : {"none", "full"}) {
    const double truth = at(way, gpus, 0);
    const double half = at(way, gpus / 2, 0);
    const double cold = std::abs(std::log(at("unknown", gpus, 0) / truth));
    EXPECT_LT(std::abs(std::log(at("unknown", gpus, half) / truth)), 0.5 * cold) << way;
  }
}

/// Errors of published trainings of one network agree at the same micro-batch alone.
TEST(MeasuredPoints, MovePlansOfOtherMicroBatchesLess) {
  const ParallelTraining read =
      parallel_training(training_of("vtrain"), sheets(), parallel_times());
  MeasuredPoint point{read.plan, read.setting.collectives.links(), 1, read.schedule};
  const double cold = predicted_seconds(read.setting, read.setting.constants, point);
  point.seconds = 1.2 * cold;
  const std::array points{point};
  double before = std::log(1.2);
  for (const double times : {1, 2, 8}) {
    const TimeConstants moved =
        by_measured_points(parallel_times(), read.setting, points, times * read.plan.micro_batch);
    const double followed = std::log(predicted_seconds(read.setting, moved, point) / cold);
    EXPECT_LT(followed, before) << times;
    EXPECT_GT(followed, 0) << times;
    before = followed;
  }
}

TEST(MeasuredPoints, OfBrokenReplicasAreRefused) {
  cases::ScalingCase training = training_of("1.34g-dp8-tp8-pp1");
  cases::GivenPoint point;
  point.gpus = 12;
  point.global_batch = 12;
  point.throughput = 1 / Seconds(1);
  training.given = {point};
  const cases::CasePrediction prediction = predicted(training);
  EXPECT_EQ(prediction.status, cases::PredictionStatus::not_covered);
  EXPECT_NE(prediction.reason.find("a replica takes 8"), std::string::npos) << prediction.reason;
}

}  // namespace
}  // namespace dlscale::model::parallel_time
