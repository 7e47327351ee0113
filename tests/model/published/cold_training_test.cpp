#include "model/published/cold/training.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/published/cold/step.hpp"
#include "model/roofline/sheet/kernel_constants.hpp"
#include "tests/core/support.hpp"
#include "tests/model/published/cold_case.hpp"

namespace dlscale::model::cold {
namespace {

using cases::ScalingCase;
using dlscale::test::expect_contains;
using test::cold_case;
using test::cold_case_on;

std::variant<ColdTraining, Reason> found(const ScalingCase& training) {
  static const scaling::FactSources sources = scaling::FactSources::load();
  static NetworkFiles networks;
  return cold_training(training, sources, networks);
}

ColdTraining known(const ScalingCase& training) {
  auto made = found(training);
  if (const Reason* reason = std::get_if<Reason>(&made)) ADD_FAILURE() << *reason;
  return std::get<ColdTraining>(std::move(made));
}

std::string reason_of(const ScalingCase& training) {
  const auto made = found(training);
  const Reason* reason = std::get_if<Reason>(&made);
  return reason != nullptr ? *reason : "it is covered";
}

OneGpuStep step_of(const ScalingCase& training) {
  return OneGpuTimes(known(training)).step(sheet::nominal_constants());
}

TEST(ColdTraining, TakesLayersDeviceAndPrecisionFromTheCase) {
  const ColdTraining made = known(cold_case());
  EXPECT_EQ(made.network->name(), "resnet50_v1.5");
  ASSERT_EQ(made.devices.size(), 1);
  EXPECT_EQ(made.devices[0].sheet, "v100_sxm2_16gb");
  EXPECT_EQ(made.run.dtype, DType::f32);
  EXPECT_EQ(made.run.batch, 64);
  EXPECT_EQ(made.micro_batches, 1);
}

TEST(ColdTraining, TakesEachBoardThatAShortNameMayMean) {
  const auto seconds = [](const char* gpu) {
    ScalingCase training = cold_case();
    training.cluster.gpu = gpu;
    return step_of(training);
  };
  const OneGpuStep any = seconds("P100");
  const OneGpuStep pcie = seconds("P100-PCIe");
  const OneGpuStep sxm = seconds("P100-SXM2");
  EXPECT_LT(sxm.forward, pcie.forward);
  EXPECT_NEAR(any.forward.si(), std::sqrt(sxm.forward.si() * pcie.forward.si()), 1e-9);
  EXPECT_LT(any.range.low, pcie.range.low);
  EXPECT_GT(any.range.high, pcie.range.high);
}

TEST(ColdTraining, TakesFp32ForTf32WhereTheDeviceHasIt) {
  ScalingCase training = cold_case();
  training.cluster.gpu = "A100-SXM4-40GB";
  EXPECT_EQ(known(training).run.dtype, DType::tf32);
  training.precision = "mixed-fp16";
  EXPECT_EQ(known(training).run.dtype, DType::f16);
}

TEST(ColdTraining, GivesANetworkOverSequencesTheirLength) {
  ScalingCase training = cold_case();
  training.network = {};
  training.network.name = "BERT-Large";
  training.network.parameters = 336'226'108;
  training.network.seq = 128;
  training.sample_unit = "sequence";
  EXPECT_EQ(known(training).network->input().height, 128);
  training.sample_unit = "token";
  training.batch_per_gpu = training.global_batch = 128 * 10;
  EXPECT_EQ(known(training).run.batch, 10);
}

TEST(ColdTraining, RunsMicroBatchesOneAfterTheOther) {
  ScalingCase training = cold_case();
  training.run.parallel.micro_batch = 16;
  const ColdTraining made = known(training);
  EXPECT_EQ(made.run.batch, 16);
  EXPECT_EQ(made.micro_batches, 4);
  ScalingCase small = cold_case();
  small.batch_per_gpu = small.global_batch = 16;
  EXPECT_DOUBLE_EQ(step_of(training).forward.si(), 4 * step_of(small).forward.si());
  EXPECT_DOUBLE_EQ(step_of(training).backward.si(), 4 * step_of(small).backward.si());
  // Three sums of gradients read two operands each and write one, at up to 900 GB/s.
  const Seconds sums = step_of(training).update - step_of(small).update;
  EXPECT_GT(sums.si(), 3 * 12 * 25.557e6 / 900e9);
  EXPECT_LT(sums.si(), 1.3 * 3 * 12 * 25.557e6 / 900e9);
}

TEST(ColdTraining, SharesTheMicroBatchOfASeries) {
  ScalingCase one = cold_case();
  ScalingCase many = cold_case_on(8);
  many.run.parallel.micro_batch = 16;
  ScalingCase strong = cold_case();
  strong.batch_per_gpu = strong.global_batch = many.global_batch;
  ScalingCase other = cold_case();
  other.precision = "mixed-fp16";
  const std::vector<ScalingCase> all = with_micro_batches(std::vector{one, many, strong, other});
  EXPECT_EQ(all[0].run.parallel.micro_batch, 16);
  EXPECT_EQ(all[2].run.parallel.micro_batch, 16);
  EXPECT_FALSE(all[3].run.parallel.micro_batch);
}

TEST(ColdTraining, SaysWhyItIsNotCovered) {
  ScalingCase training = cold_case();
  training.network.name = "A net";
  expect_contains(reason_of(training), "the layers of \"A net\" are not known");
  training = cold_case();
  training.network.parameters = 100'000'000;
  expect_contains(reason_of(training), "other layers");
  training = cold_case();
  training.cluster.gpu = "A GPU";
  expect_contains(reason_of(training), "\"A GPU\" has no data sheet");
  training = cold_case();
  training.precision = "mixed-fp8";
  expect_contains(reason_of(training), "only those of 32 and 16 bits");
  training = cold_case_on(4);
  training.run.parallel.dp = 2;
  training.run.parallel.tp = 2;
  expect_contains(reason_of(training), "the network is split over GPUs");
  training = cold_case();
  training.batch_per_gpu = training.global_batch = 1e6;
  expect_contains(reason_of(training), "micro_batch");
  training = cold_case();
  training.batch_per_gpu = training.global_batch = 0.5;
  expect_contains(reason_of(training), "share a sample");
  training = cold_case();
  training.network.name = "BERT-Large";
  training.network.seq = 100'000'000'000;
  expect_contains(reason_of(training), "tokens");
}

}  // namespace
}  // namespace dlscale::model::cold
