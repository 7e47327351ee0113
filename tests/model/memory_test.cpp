#include "model/sgd_iter/kernels/memory.hpp"

#include <gtest/gtest.h>

#include <string>

#include "backend/compute/compute.hpp"
#include "core/base/error.hpp"
#include "core/network/network.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/layer_times.hpp"
#include "tests/core/support.hpp"
#include "tests/model/notes_of.hpp"
#include "train/engine/program_plan.hpp"

namespace dlscale::model {
namespace {

using TrainingRun = dlscale::Run;  // gtest's fixtures have a Run() of their own

TrainingRun run_of(int batch, DType dtype = DType::f32) {
  TrainingRun run;
  run.network = "made";
  run.batch = batch;
  run.dtype = dtype;
  return run;
}

/// Input 3 × 4 × 4; convolution and ReLU 8 × 4 × 4, fully connected 10, loss 1. 224 + 1290
/// parameters.
Network small() {
  return {"small",
          {3, 4, 4},
          {{"conv", Convolution{8, 3, 3, 1, 1, 1, true}, {"input"}},
           {"relu", Relu{}, {"conv"}},
           {"fc", FullyConnected{10, true}, {"relu"}},
           {"loss", SoftmaxCrossEntropy{}, {"fc"}}}};
}

TEST(MemoryNeed, IsCountedByHand) {
  const MemoryNeed need = memory_need(small(), DeviceKind::cpu, run_of(2));
  EXPECT_EQ(need.parameters.si(), 4 * 1514);
  EXPECT_EQ(need.states.si(), 8 * 1514);
  EXPECT_EQ(need.activations.si(), 2 * 4 * (48 + 128 + 128 + 10 + 1));
  EXPECT_EQ(need.gradients.si(), 2 * 4 * (128 + 128));
  EXPECT_EQ(need.batch.si(), 0);
  EXPECT_EQ(need.least().si(), 4 * 1514 + 8 * 315);
}

TEST(MemoryNeed, OfSixteenBitsIsHalfBesideMasterWeights) {
  const MemoryNeed need = memory_need(small(), DeviceKind::cpu, run_of(2, DType::bf16));
  EXPECT_EQ(need.parameters.si(), 4 * 1514);
  EXPECT_EQ(need.states.si(), 10 * 1514);
  EXPECT_EQ(need.activations.si(), 2 * 2 * 315);
}

TEST(MemoryNeed, HasTheNextBatchWhereItIsCopied) {
  TrainingRun run = run_of(2);
  EXPECT_EQ(memory_need(small(), DeviceKind::gpu, run).batch.si(), 2 * 4 * 48);
  run.normalisation = Normalisation::device;
  EXPECT_EQ(memory_need(small(), DeviceKind::gpu, run).batch.si(), 2 * 48);
}

TEST(MemoryNeed, IsNotFarBelowWhatTheEngineTakes) {
  const auto device = family<backend::ComputeBackend>().find("reference")->open({});
  for (const char* name : {"alexnet", "googlenet", "resnet50", "vgg16"}) {
    const Network network = load_network(name);
    const auto taken =
        static_cast<double>(train::make_plan(network, *device, 8, DType::f32).bytes());
    const double need = memory_need(network, DeviceKind::cpu, run_of(8)).total().si();
    EXPECT_LE(need, taken) << name;
    EXPECT_GE(need, 0.8 * taken) << name;
  }
}

TEST(LargestBatch, IsTheLastThatFits) {
  const Network network = small();
  for (const double memory : {1e5, 1e6, 1.234e7}) {
    const int largest = largest_batch(network, DeviceKind::gpu, run_of(1), Bytes(memory));
    const auto need = [&](int batch) {
      return memory_need(network, DeviceKind::gpu, run_of(batch)).total().si();
    };
    EXPECT_LE(need(largest), memory);
    EXPECT_GT(need(largest + 1), memory);
  }
  EXPECT_EQ(largest_batch(network, DeviceKind::gpu, run_of(1), Bytes(1000)), 0);
}

/// AlexNet on eight H200, which have 141 GB each.
class OnH200 : public testing::Test {
 protected:
  [[nodiscard]] Prediction predicted(int batch) const {
    const int ranks[] = {1};
    return predict(network_, machine_, run_of(batch), ranks).front();
  }
  [[nodiscard]] std::string refusal(int batch) const {
    return test::config_error([&] { static_cast<void>(predicted(batch)); });
  }
  Network network_ = load_network("alexnet");
  Machine machine_ = nominal_machine(load_cluster("h200x8"));
  int largest_ =
      largest_batch(network_, DeviceKind::gpu, run_of(1), machine_.cluster.device.memory);
};

TEST_F(OnH200, WhatFitsIsPredictedWithoutAWord) {
  EXPECT_FALSE(mentions(predicted(largest_), "workspace not counted"));
}

TEST_F(OnH200, WhatMayNotFitIsNoted) {
  const Prediction p = predicted(largest_ + 1);
  EXPECT_TRUE(mentions(p, "needs about 141 GB of the 141 GB of each rank")) << all(p.notes);
  EXPECT_TRUE(mentions(p, "largest batch that fits is about " + std::to_string(largest_)))
      << all(p.notes);
}

TEST_F(OnH200, WhatCannotFitIsRefusedWithWhatDoes) {
  const std::string problem = refusal(2 * largest_);
  test::expect_contains(problem, "parameters and activations alone");
  test::expect_contains(problem, "Ask for a batch of " + std::to_string(largest_));
  EXPECT_THROW(layer_times(network_, machine_, run_of(2 * largest_)), ConfigError);
}

TEST_F(OnH200, NothingIsSaidWhereNoMemoryIsStated) {
  machine_.cluster.device.memory = Bytes();
  EXPECT_FALSE(mentions(predicted(2 * largest_), "workspace not counted"));
}

TEST_F(OnH200, ProcessorsShareTheMemoryOfTheirNode) {
  machine_.cluster.device.kind = DeviceKind::cpu;
  machine_.cluster.devices_per_node = 2;
  const MemoryNeed need = memory_need(network_, DeviceKind::cpu, run_of(8));
  machine_.cluster.device.memory = 0.75 * need.least();
  TrainingRun run = run_of(8);
  run.ranks_per_node = 2;
  Notes notes;
  EXPECT_NO_THROW(check_memory(network_, machine_.cluster, run, notes));
  run.ranks = 2;
  EXPECT_THROW(check_memory(network_, machine_.cluster, run, notes), ConfigError);
}

}  // namespace
}  // namespace dlscale::model
