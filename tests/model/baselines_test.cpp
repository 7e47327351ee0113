#include "model/published/baselines/baselines.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "model/published/cases/case_file.hpp"
#include "tests/core/case_lines.hpp"
#include "tests/core/support.hpp"

namespace dlscale::model {
namespace {

using cases::CasePrediction;
using cases::CurveCase;
using cases::PredictionStatus;
using cases::ScalingCase;
using test::TemporaryFolder;

ScalingCase training() {
  const TemporaryFolder folder;
  return cases::read_cases(folder.write("cases.jsonl", test::training_line)).trainings.at(0);
}

CurveCase curve() {
  const TemporaryFolder folder;
  return cases::read_cases(folder.write("cases.jsonl", test::curve_line)).curves.at(0);
}

const TrainingBaseline& training_baseline(std::string_view name) {
  for (const TrainingBaseline& baseline : training_baselines()) {
    if (baseline.name == name) return baseline;
  }
  throw std::logic_error("no such baseline");
}

double iteration(std::string_view name, const ScalingCase& of) {
  return training_baseline(name).iteration(of).si();
}

std::vector<double> times(std::string_view name, const CurveCase& of) {
  for (const CurveBaseline& baseline : curve_baselines()) {
    if (baseline.name != name) continue;
    const std::vector<CasePrediction> predictions = predict(baseline, std::vector{of});
    std::vector<double> values;
    for (const auto& value : predictions.at(0).values) values.push_back(value.value().value);
    return values;
  }
  throw std::logic_error("no such baseline");
}

TEST(TrainingBaselines, ScaleFromOneGpu) {
  // t0 = 0.1 s; 100 MB by a ring of 8 at 1 GB/s: 2 · 7/8 · 0.1 s.
  const ScalingCase asked = training();
  EXPECT_DOUBLE_EQ(nominal_ring(asked, 8).si(), 0.175);
  EXPECT_DOUBLE_EQ(nominal_ring(asked, 1).si(), 0);
  EXPECT_DOUBLE_EQ(iteration("linear", asked), 0.1);
  EXPECT_DOUBLE_EQ(iteration("bsp_ring", asked), 0.1 + 0.175);
  EXPECT_DOUBLE_EQ(iteration("wfbp_ideal", asked), 0.1 / 3 + 0.175);
}

TEST(TrainingBaselines, TakeTheRingOutOfTheGivenTimeAndGrowWithTheBatch) {
  // t0 = 0.1 s on the 4 GPUs of a node, whose ring at 10 GB/s takes 15 ms.
  ScalingCase asked = training();
  asked.given = {{4, cases::PerSecond(1280), 32, 128, ""}};
  asked.batch_per_gpu = 64;
  asked.global_batch = 512;
  EXPECT_DOUBLE_EQ(nominal_ring(asked, 4).si(), 0.015);
  EXPECT_DOUBLE_EQ(iteration("linear", asked), 0.2);
  EXPECT_DOUBLE_EQ(iteration("bsp_ring", asked), 2 * 0.085 + 0.175);
  EXPECT_DOUBLE_EQ(iteration("wfbp_ideal", asked), 0.2 / 3 + 0.175);
}

TEST(TrainingBaselines, LeaveATenthOfTheGivenTimeToComputing) {
  ScalingCase asked = training();
  asked.given = {{4, cases::PerSecond(12800), 32, 128, ""}};  // 10 ms, of which the ring is 15
  EXPECT_DOUBLE_EQ(iteration("bsp_ring", asked), 0.001 + 0.175);
  EXPECT_DOUBLE_EQ(iteration("wfbp_ideal", asked), 0.001 / 3 + 0.175);
}

TEST(TrainingBaselines, NodesOfOneGpuHaveOnlyTheLinkBetweenThem) {
  ScalingCase asked = training();
  asked.gpus_per_node = 1;
  asked.cluster.intra_node.bandwidth = BytesPerSecond(1e6);
  EXPECT_DOUBLE_EQ(nominal_ring(asked, 8).si(), 0.175);
  asked.cluster.inter_node.reset();
  EXPECT_DOUBLE_EQ(nominal_ring(asked, 8).si(), 175);
}

TEST(TrainingBaselines, StateTwentyPercentAndCoverOnlyWhatHasAGivenPoint) {
  ScalingCase without = training();
  without.given.clear();
  const std::vector<ScalingCase> both{training(), without};
  for (const TrainingBaseline& baseline : training_baselines()) {
    const std::vector<CasePrediction> predictions = predict(baseline, both);
    ASSERT_EQ(predictions.size(), 2U);
    const cases::PredictedValue value = predictions[0].values.at(0).value();
    EXPECT_DOUBLE_EQ(value.value, 256 / iteration(baseline.name, both[0]));
    EXPECT_DOUBLE_EQ(value.low.value(), 0.8 * value.value);
    EXPECT_DOUBLE_EQ(value.high.value(), 1.2 * value.value);
    EXPECT_EQ(predictions[1].status, PredictionStatus::not_covered);
    EXPECT_FALSE(predictions[1].reason.empty());
  }
}

/// A transformer of which nothing was measured; 128 tokens a sequence, 32 of these a GPU.
ScalingCase cold_training() {
  ScalingCase asked = training();
  asked.given.clear();
  asked.sample_unit = "sequence";
  asked.precision = "bf16";
  asked.cluster.gpu = "A100-SXM4-80GB";
  return asked;
}

const DeviceCatalogue& devices() {
  static const DeviceCatalogue all = DeviceCatalogue::load();
  return all;
}

CasePrediction cold(const ColdBaseline& baseline, const ScalingCase& asked) {
  return predict(baseline, std::vector{asked}, devices()).at(0);
}

TEST(ColdBaselines, AreSixOperationsAParameterAndToken) {
  // 25e6 parameters, 312 TFLOP/s.
  const double at_peak = 6 * 25e6 * 128 * 32 / 312e12;
  ASSERT_EQ(cold_baselines().size(), 2U);
  for (const ColdBaseline& baseline : cold_baselines()) {
    const CasePrediction said = cold(baseline, cold_training());
    ASSERT_EQ(said.status, PredictionStatus::ok) << said.reason;
    EXPECT_EQ(said.unit, cases::CaseUnit::iteration_s);
    const cases::PredictedValue value = said.values.at(0).value();
    EXPECT_DOUBLE_EQ(value.value, at_peak / baseline.of_peak);
    EXPECT_DOUBLE_EQ(value.low.value(), 0.8 * value.value);
    EXPECT_DOUBLE_EQ(value.high.value(), 1.2 * value.value);
  }
  EXPECT_EQ(cold_baselines()[0].name, "mfu40");
  EXPECT_DOUBLE_EQ(cold_baselines()[0].of_peak, 0.4);
  EXPECT_DOUBLE_EQ(cold_baselines()[1].of_peak, 1);
}

TEST(ColdBaselines, TakeThePeakOfThePrecisionAndOnlyActiveParameters) {
  const ColdBaseline& peak = cold_baselines()[1];
  const auto time = [&](const ScalingCase& asked) {
    return cold(peak, asked).values.at(0).value().value;
  };
  const double usual = time(cold_training());
  ScalingCase plain = cold_training();
  plain.precision = "fp32";
  EXPECT_DOUBLE_EQ(time(plain) / usual, 312 / 19.5);
  ScalingCase sparse = cold_training();
  sparse.network.active_parameters = 5'000'000;
  EXPECT_DOUBLE_EQ(time(sparse) / usual, 0.2);
  ScalingCase tokens = cold_training();
  tokens.sample_unit = "token";
  EXPECT_DOUBLE_EQ(time(tokens) / usual, 1.0 / 128);
  // GPUs that share a sequence.
  ScalingCase shared = cold_training();
  shared.batch_per_gpu = 0.5;
  shared.global_batch = 4;
  EXPECT_DOUBLE_EQ(time(shared) / usual, 0.5 / 32);
}

TEST(ColdBaselines, SayWhatTheyDoNotCover) {
  const ColdBaseline& peak = cold_baselines()[1];
  const auto reason = [&](const ScalingCase& asked) {
    const CasePrediction said = cold(peak, asked);
    EXPECT_EQ(said.status, PredictionStatus::not_covered);
    EXPECT_TRUE(said.values.empty());
    return said.reason;
  };
  ScalingCase given = cold_training();
  given.given = training().given;
  test::expect_contains(reason(given), "a measured point is given");
  ScalingCase images = cold_training();
  images.sample_unit = "image";
  test::expect_contains(reason(images), "how many tokens");
  ScalingCase untold = cold_training();
  untold.network.seq.reset();
  test::expect_contains(reason(untold), "how many tokens");
  ScalingCase unknown = cold_training();
  unknown.cluster.gpu = "A GPU of the moon";
  test::expect_contains(reason(unknown), "no data sheet");
  ScalingCase narrow = cold_training();
  narrow.precision = "fp8";  // which an A100 does not have
  test::expect_contains(reason(narrow), "no peak in fp8");
  narrow.precision = "a precision of the moon";
  test::expect_contains(reason(narrow), "no peak in a precision of the moon");
  ScalingCase endless = cold_training();
  endless.global_batch = 1e308;
  endless.network.parameters = 1'000'000'000'000;
  test::expect_contains(reason(endless), "no time that an iteration could take");
}

TEST(CurveBaselines, ALineGoesThroughTheSmallestAndTheLargestSize) {
  const std::vector<double> found = times("alpha_beta", curve());
  ASSERT_EQ(found.size(), 2U);
  EXPECT_NEAR(found[0], 2e-5, 1e-12);
  EXPECT_NEAR(found[1], 1.01e-3, 1e-12);
}

TEST(CurveBaselines, ALineGrowsWithTheRanksAsARingHasIt) {
  CurveCase asked = curve();
  asked.ranks = 8;
  const std::vector<double> found = times("alpha_beta", asked);
  EXPECT_NEAR(found[0], 7.0 / 3 * 1e-5 + 7.0 / 6 * 1e-5, 1e-12);
}

TEST(CurveBaselines, ALineNeverFalls) {
  CurveCase asked = curve();
  asked.given.front().times = {Seconds(1e-3), Seconds(1e-3), Seconds(1e-4)};
  for (const double time : times("alpha_beta", asked)) EXPECT_DOUBLE_EQ(time, 1e-3);
}

TEST(CurveBaselines, LogLogInterpolationIsGeometric) {
  const std::vector<double> found = times("loglog", curve());
  ASSERT_EQ(found.size(), 2U);
  EXPECT_NEAR(found[0], std::sqrt(1.1e-5 * 1.1e-4), 1e-15);
  EXPECT_NEAR(found[1], std::sqrt(1.1e-4 * 0.01001), 1e-13);
}

TEST(CurveBaselines, LogLogGoesOnBeyondTheGivenSizes) {
  CurveCase asked = curve();
  asked.query = {Bytes(1000), Bytes(1e9)};
  const std::vector<double> found = times("loglog", asked);
  EXPECT_NEAR(found[0], 1.1e-5, 1e-15);
  EXPECT_NEAR(found[1], 0.01001 * 0.01001 / 1.1e-4, 1e-9);
}

TEST(CurveBaselines, TakeTheNearestNumberOfRanksByItsRatio) {
  CurveCase asked = curve();
  asked.given.push_back(asked.given.front());
  asked.given[0].ranks = 2;
  asked.given[1].ranks = 16;
  asked.given[1].times = {Seconds(1), Seconds(1), Seconds(1)};
  asked.ranks = 5;
  EXPECT_LT(times("loglog", asked).at(0), 1e-3);
  asked.ranks = 6;
  EXPECT_DOUBLE_EQ(times("loglog", asked).at(0), 1);
}

TEST(CurveBaselines, SayWhatTheyDoNotCover) {
  CurveCase none = curve();
  none.given.clear();
  CurveCase alone = curve();
  alone.given.front().bytes.resize(1);
  alone.given.front().times.resize(1);
  CurveCase steep = curve();
  steep.given.front().bytes = {Bytes(1), Bytes(1.0001)};
  steep.given.front().times = {Seconds(1e-12), Seconds(1e9)};
  for (const CurveBaseline& baseline : curve_baselines()) {
    const auto predictions = predict(baseline, std::vector{none, alone});
    for (const CasePrediction& prediction : predictions) {
      EXPECT_EQ(prediction.status, PredictionStatus::not_covered) << baseline.name;
      EXPECT_TRUE(prediction.values.empty());
    }
  }
  EXPECT_EQ(predict(curve_baselines()[1], std::vector{steep}).at(0).status,
            PredictionStatus::not_covered);
  CurveCase one_rank = curve();
  one_rank.given.front().ranks = 1;
  EXPECT_EQ(predict(curve_baselines()[0], std::vector{one_rank}).at(0).status,
            PredictionStatus::not_covered);
}

}  // namespace
}  // namespace dlscale::model
