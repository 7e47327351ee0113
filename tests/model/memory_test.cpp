#include "model/sgd_iter/kernels/memory.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "backend/compute/compute.hpp"
#include "core/base/error.hpp"
#include "core/cluster/device_file.hpp"
#include "core/config/config_path.hpp"
#include "core/network/network.hpp"
#include "core/network/relu_fusion.hpp"
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
  EXPECT_EQ(need.activations.si(), 2 * 4 * (48 + 128 + 10 + 1));  // ReLU in place
  EXPECT_EQ(need.gradients.si(), 2 * 4 * (128 + 128));
  EXPECT_EQ(need.batch.si(), 0);
  EXPECT_EQ(need.least_states.si(), 8 * 1514);
  EXPECT_EQ(need.kept.si(), 2 * 4 * (48 + 128 + 10));
  EXPECT_EQ(need.least().si(), 12 * 1514 + 8 * 186);
}

/// Input 3 × 8 × 8; two convolutions of 8 × 8 × 8, batch norm, ReLU, maxima of 8 × 4 × 4.
Network pooled(bool normalised) {
  std::vector<Network::Node> nodes{{"one", Convolution{8, 3, 3, 1, 1, 1, false}, {"input"}},
                                   {"two", Convolution{8, 3, 3, 1, 1, 1, false}, {"one"}}};
  if (normalised) nodes.push_back({"norm", BatchNorm{}, {"two"}});
  nodes.push_back({"relu", Relu{}, {nodes.back().name}});
  nodes.push_back({"pool", Pooling{PoolingKind::max, 2, 2, 2, 0, false}, {"relu"}});
  nodes.push_back({"fc", FullyConnected{10, true}, {"pool"}});
  nodes.push_back({"loss", SoftmaxCrossEntropy{}, {"fc"}});
  return {"pooled", {3, 8, 8}, nodes};
}

TEST(MemoryNeed, KeepsOfAPoolingItsMaximaAndTheirPlaces) {
  const MemoryNeed need = memory_need(pooled(false), DeviceKind::gpu, run_of(1));
  EXPECT_EQ(need.kept.si(), 4 * (192 + 512 + 10) + (4 + 1) * 128);
}

TEST(MemoryNeed, KeepsWhatABatchNormReadsWhole) {
  const MemoryNeed need = memory_need(pooled(true), DeviceKind::gpu, run_of(1));
  EXPECT_EQ(need.kept.si(), 4 * (192 + 512 + 512 + 10));
  EXPECT_EQ(need.activations.si(), 4 * (192 + 3 * 512 + 128 + 10 + 1));
}

TEST(MemoryNeed, AtLeastIsNeverMoreThanAbout) {
  for (const std::string& name : config_names("networks")) {
    for (const DType dtype : {DType::f32, DType::f16}) {
      const MemoryNeed need = memory_need(load_network(name), DeviceKind::gpu, run_of(8, dtype));
      EXPECT_LE(need.kept, need.activations) << name;
      EXPECT_LE(need.least_states, need.states) << name;
    }
  }
}

struct PublishedTraining {
  const char* network;
  DType dtype;
  int batch;        ///< images of one GPU
  const char* gpu;  ///< a name in configs/devices
  const char* source;
};

/// Trainings that ran, the largest batch of each kind that was found.
constexpr PublishedTraining published_trainings[] = {
    {"resnet50_v1.5", DType::f32, 144, "V100-SXM2-16GB", "Oneflow-Inc/DLPerf, OneFlow v0.2"},
    {"resnet50_v1.5", DType::f32, 128, "V100-SXM2-16GB", "Oneflow-Inc/DLPerf, several frameworks"},
    {"resnet50", DType::f32, 64, "K80", "TensorFlow 1.2 benchmarks, 51.9 images/s on one"},
    {"resnet50", DType::f32, 64, "RTX 2080 Ti", "HKBU-HPML/ddl-benchmarks, 2020"},
    {"resnet50", DType::f32, 224, "RTX 3090", "lambdal/deeplearning-benchmark, 513 images/s"},
    {"resnet50", DType::f32, 496, "RTX A6000", "lambdal/deeplearning-benchmark, 514 images/s"},
    {"resnet50", DType::f32, 640, "A100-SXM4-80GB", "lambdal/deeplearning-benchmark"},
    {"resnet50", DType::f16, 1280, "A100-SXM4-80GB", "lambdal/deeplearning-benchmark"},
    {"resnet50", DType::f16, 448, "RTX 4090", "lambdal/deeplearning-benchmark"},
    {"resnet50_v1.5", DType::f16, 256, "V100-SXM2-16GB", "lambdal/deeplearning-benchmark"},
    {"resnet50_v1.5", DType::tf32, 512, "A100-SXM4-80GB", "NVIDIA/DeepLearningExamples, MXNet"},
    {"resnet152", DType::f32, 32, "K80", "TensorFlow 1.2 benchmarks, 20 images/s"},
    {"resnet152", DType::f32, 64, "P100-SXM2-16GB", "TensorFlow 1.2 benchmarks, 91.8 images/s"},
    {"resnet152", DType::f32, 128, "V100-PCIe-32GB", "trl730109/DreamDDP, scripts/tpds"},
    {"vgg16", DType::f32, 32, "K80", "TensorFlow 1.2 benchmarks, 35.4 images/s"},
    {"vgg16", DType::f32, 64, "P100-SXM2-16GB", "TensorFlow 1.2 benchmarks, 154 images/s"},
    {"alexnet", DType::f32, 512, "K80", "TensorFlow 1.2 benchmarks, 656 images/s on two"}};

TEST(PublishedTrainings, AreNotRefusedForMemory) {
  const DeviceCatalogue catalogue = DeviceCatalogue::load();
  Cluster cluster;
  for (const PublishedTraining& ran : published_trainings) {
    cluster.device = nominal_device(catalogue.at(ran.gpu), Seconds(1e-6));
    Notes notes;
    EXPECT_NO_THROW(
        check_memory(load_network(ran.network), cluster, run_of(ran.batch, ran.dtype), notes))
        << ran.network << ", " << ran.batch << " images on " << ran.gpu << ", " << ran.source;
  }
}

/// Twice the batches that these authors raised until memory was full.
TEST(PublishedTrainings, OfTwiceTheLargestBatchAreNoted) {
  const DeviceCatalogue catalogue = DeviceCatalogue::load();
  const Network network = load_network("resnet50");
  for (const auto& [gpu, batch] :
       std::map<std::string, int>{{"RTX 3090", 224}, {"RTX A6000", 496}, {"A100-SXM4-80GB", 640}}) {
    const Bytes memory = catalogue.at(gpu).memory;
    EXPECT_GT(memory_need(network, DeviceKind::gpu, run_of(2 * batch)).total(), memory) << gpu;
  }
}

TEST(MemoryNeed, OfSixteenBitsIsHalfBesideMasterWeights) {
  const MemoryNeed need = memory_need(small(), DeviceKind::cpu, run_of(2, DType::bf16));
  EXPECT_EQ(need.parameters.si(), 4 * 1514);
  EXPECT_EQ(need.states.si(), 10 * 1514);
  EXPECT_EQ(need.activations.si(), 2 * 2 * (48 + 128 + 10 + 1));
  EXPECT_EQ(need.least_states.si(), 8 * 1514);
}

TEST(MemoryNeed, HasTheNextBatchWhereItIsCopied) {
  TrainingRun run = run_of(2);
  EXPECT_EQ(memory_need(small(), DeviceKind::gpu, run).batch.si(), 2 * 4 * 48);
  run.normalisation = Normalisation::device;
  EXPECT_EQ(memory_need(small(), DeviceKind::gpu, run).batch.si(), 2 * 48);
}

TEST(MemoryNeed, IsAboutWhatTheEngineTakes) {
  const auto device = family<backend::ComputeBackend>().find("reference")->open({});
  for (const char* name : {"alexnet", "googlenet", "resnet50", "vgg16"}) {
    const Network network = fuse_relu(load_network(name));
    const auto taken =
        static_cast<double>(train::make_plan(network, *device, 8, DType::f32).bytes());
    const double need = memory_need(network, DeviceKind::cpu, run_of(8)).total().si();
    EXPECT_LE(need, 1.02 * taken) << name;
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
  const std::string problem = refusal(4 * largest_);
  test::expect_contains(problem, "needs at least");
  test::expect_contains(problem, "Ask for a batch of " + std::to_string(largest_));
  EXPECT_THROW(layer_times(network_, machine_, run_of(4 * largest_)), ConfigError);
}

TEST_F(OnH200, NothingIsSaidWhereNoMemoryIsStated) {
  machine_.cluster.device.memory = Bytes();
  EXPECT_FALSE(mentions(predicted(4 * largest_), "workspace not counted"));
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
