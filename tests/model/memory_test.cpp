#include "model/sgd_iter/kernels/memory.hpp"
#include "model/memory/library_memory.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/compute/compute.hpp"
#include "core/base/error.hpp"
#include "core/cluster/device_file.hpp"
#include "core/cluster/device_memory.hpp"
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
  EXPECT_EQ(need.least_states.si(), 4 * 1514);
  EXPECT_EQ(need.kept.si(), 2 * 4 * (48 + 128));  // only the loss reads the last product
  EXPECT_EQ(need.least().si(), 8 * 1514 + 8 * 176);
  EXPECT_EQ(need.most_states.si(), 12 * 1514);
  EXPECT_EQ(need.most().si(), 16 * 1514 + 2 * 4 * (1.5 * 187 + 256));
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
  EXPECT_EQ(need.kept.si(), 4 * (192 + 512) + (4 + 1) * 128);
}

TEST(MemoryNeed, KeepsWhatABatchNormReadsWhole) {
  const MemoryNeed need = memory_need(pooled(true), DeviceKind::gpu, run_of(1));
  EXPECT_EQ(need.kept.si(), 4 * (192 + 512 + 512));
  EXPECT_EQ(need.activations.si(), 4 * (192 + 3 * 512 + 128 + 10 + 1));
}

TEST(MemoryNeed, AtLeastIsNeverMoreThanAbout) {
  for (const std::string& name : config_names("networks")) {
    const Network network = load_network(name);
    for (const DType dtype : {DType::f32, DType::f16}) {
      const MemoryNeed need = memory_need(network, DeviceKind::gpu, run_of(8, dtype));
      EXPECT_LE(need.kept, need.activations) << name;
      EXPECT_LE(need.least_states, need.states) << name;
      EXPECT_LE(need.states, need.most_states) << name;
      EXPECT_LE(need.least(), need.total()) << name;
      EXPECT_LE(need.total(), need.most()) << name;
    }
  }
}

/// Libraries of a rank on a GPU, with a communicator where it is not alone.
TEST(MemoryNeed, HasLibrariesOnGpus) {
  TrainingRun run = run_of(2);
  const MemoryNeed alone = memory_need(small(), DeviceKind::gpu, run);
  EXPECT_EQ(alone.libraries.bytes, memory::library_memory(0).bytes);
  EXPECT_EQ(alone.least().si(), 8 * 1514 + 8 * 176 + memory::library_memory(0).low);
  run.ranks = 2;
  EXPECT_EQ(memory_need(small(), DeviceKind::gpu, run).libraries.high,
            memory::library_memory(1).high);
  EXPECT_EQ(memory_need(small(), DeviceKind::cpu, run).libraries.bytes, 0);
}

TEST(MemoryTraits, AreThoseThatSoftwareStates) {
  const Network network = load_network("gpt2");
  EXPECT_FALSE(memory_traits(network, DType::f16, {}).optimiser_states);
  ComputeRow row;
  row.networks = NetworkFamily::transformer;
  row.traits.stated = true;
  row.traits.optimizer = Optimizer::lamb;
  row.traits.fused_attention = true;
  const MemoryTraits traits = memory_traits(network, DType::f16, {row});
  EXPECT_EQ(traits.optimiser_states, 2);
  EXPECT_EQ(traits.fused_attention, true);
  EXPECT_FALSE(memory_traits(load_network("resnet18"), DType::f16, {row}).optimiser_states);
}

TEST(MemoryNeed, HasTheStatesOfTheOptimiser) {
  for (int states = 0; states <= 2; ++states) {
    const MemoryNeed need =
        memory_need(small(), DeviceKind::gpu, run_of(1), {.optimiser_states = states});
    EXPECT_EQ(need.states.si(), 4 * (1 + states) * 1514);
    EXPECT_EQ(need.least_states, need.states);
    EXPECT_EQ(need.most_states, need.states);
  }
  const auto states_of = [](const char* name) {
    const Network network = load_network(name);
    const MemoryNeed need = memory_need(network, DeviceKind::gpu, run_of(1));
    return need.states.si() / static_cast<double>(network.parameter_count());
  };
  EXPECT_EQ(states_of("gpt2"), 4 + 8);  // Adam
  EXPECT_EQ(states_of("vit_base"), 4 + 8);
  EXPECT_EQ(states_of("resnet18"), 4 + 4);  // momentum
}

/// A layer of GPT keeps 16 s h elements of s tokens with h features, and of a heads a s² scores
/// [arXiv:2205.05198, equation 1, without dropout].
TEST(MemoryNeed, KeepsScoresUnlessAttentionIsFused) {
  const Network network = load_network("gpt2");
  const double scores = 12.0 * 12 * 1024 * 1024;
  const auto need = [&](std::optional<bool> fused) {
    return memory_need(network, DeviceKind::gpu, run_of(2, DType::f16), {.fused_attention = fused});
  };
  EXPECT_EQ(need(false).activations.si() - need(true).activations.si(), 2 * 2 * scores);
  EXPECT_EQ(need({}).activations, need(true).activations);
  EXPECT_EQ(need({}).scores.si(), 2 * 2 * scores);
  EXPECT_EQ(need(true).scores.si(), 0);
  EXPECT_EQ(need(false).scores.si(), 0);
  EXPECT_EQ(need({}).least(), need(false).least());
}

/// Peaks that the allocator of nanotron reserved on H100 of 85.5 GB, by sequences of one GPU. With
/// four and eight it ran out [gkarfakis19/Rapid-LLM: bf16, Adam, fused attention].
TEST(MemoryNeed, IsCloseToWhatTrainingsOfALanguageModelReserved) {
  const Network network =
      load_network(DLSCALE_SOURCE_DIR "/results/published/memory/llama_1.34b.yaml");
  EXPECT_EQ(network.parameter_count(), 1342244864);
  const MemoryTraits traits{.optimiser_states = 2, .fused_attention = true};
  const auto need = [&](int batch) {
    return memory_need(network, DeviceKind::gpu, run_of(batch, DType::bf16), traits);
  };
  for (const auto& [batch, measured] :
       std::vector<std::pair<int, double>>{{1, 39.4e9}, {2, 52.1e9}, {2, 53.9e9}}) {
    const double beside_libraries = need(batch).total().si() - need(batch).libraries.bytes;
    EXPECT_NEAR(beside_libraries / measured, 0.92, 0.06);
    EXPECT_LT(need(batch).least().si(), measured);
    EXPECT_GT(need(batch).most().si(), measured);
  }
  EXPECT_GT(need(4).most().si(), 85.5e9);
  EXPECT_GT(need(8).total().si(), 85.5e9);
  EXPECT_NEAR((need(1).parameters + need(1).states).si() / 26.9e9, 0.9, 0.01);
}

/// Of each token, a layer of GPT must keep 10 h elements: queries, keys, values, their context, and
/// the outputs of three linear layers, of which one has 4 h.
TEST(MemoryNeed, OfALanguageModelKeepsItsProducts) {
  const MemoryNeed need = memory_need(load_network("gpt2"), DeviceKind::gpu, run_of(1));
  EXPECT_EQ(need.kept.si(), 4 * (1024 + 12 * 10.0 * 1024 * 768));
}

struct PublishedTraining {
  const char* network;
  DType dtype;
  int batch;        ///< samples of one GPU
  const char* gpu;  ///< a name in configs/devices
  const char* source;
  int tokens = 0;  ///< of a sequence; 0: as the network's file says
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
    {"alexnet", DType::f32, 512, "K80", "TensorFlow 1.2 benchmarks, 656 images/s on two"},
    {"bert_base", DType::f32, 96, "V100-SXM2-16GB", "Oneflow-Inc/DLPerf, MindSpore", 128},
    {"bert_base", DType::f16, 160, "V100-SXM2-16GB", "Oneflow-Inc/DLPerf, PaddlePaddle", 128},
    {"bert_large", DType::f32, 8, "RTX 2080 Ti", "HKBU-HPML/ddl-benchmarks, 2020", 64},
    {"bert_large", DType::f32, 3, "V100-SXM2-16GB", "NVIDIA/DeepLearningExamples", 384},
    {"bert_large", DType::f16, 16, "V100-SXM2-16GB", "lambdal/deeplearning-benchmark", 384},
    {"bert_large", DType::f16, 28, "RTX 3090", "lambdal/deeplearning-benchmark", 384},
    {"bert_large", DType::f32, 32, "RTX A6000", "lambdal/deeplearning-benchmark", 384},
    {"bert_large", DType::f32, 64, "A100-PCIe-80GB", "lambdal/deeplearning-benchmark", 384},
    {"bert_large", DType::f16, 112, "H100-SXM5-80GB", "lambdal/deeplearning-benchmark", 384},
    {"bert_large", DType::f16, 96, "A100-PCIe-80GB", "MLPerf training v3.1", 512},
    {"bert_large", DType::f16, 27, "A100-SXM4-40GB", "MLPerf training v0.7", 512},
    {"transformer_big", DType::f32, 160, "V100-SXM2-16GB", "NVIDIA/DeepLearningExamples", 32},
    {"transformer_big", DType::f32, 320, "A100-SXM4-40GB", "NVIDIA/DeepLearningExamples", 32},
    {"transformer_xl_base", DType::f32, 16, "V100-SXM2-16GB", "NVIDIA/DeepLearningExamples"},
    {"transformer_xl_large", DType::f32, 2, "V100-SXM2-16GB", "NVIDIA/DeepLearningExamples"},
    {"transformer_xl_large", DType::f16, 16, "A100-SXM4-40GB", "NVIDIA/DeepLearningExamples"},
    {"densenet161", DType::f32, 64, "V100-PCIe-32GB", "trl730109/DreamDDP, scripts/tpds"},
    {"densenet201", DType::f32, 64, "V100-PCIe-32GB", "trl730109/DreamDDP, scripts/tpds"},
    {"inception_v4", DType::f32, 128, "V100-PCIe-32GB", "trl730109/DreamDDP, scripts/tpds"},
    {"resnext101_32x4d", DType::f32, 64, "V100-SXM2-16GB", "NVIDIA/DeepLearningExamples"},
    {"resnext101_32x4d", DType::f16, 256, "A100-SXM4-40GB", "NVIDIA/DeepLearningExamples"},
    {"se_resnext101_32x4d", DType::f32, 64, "V100-SXM2-16GB", "NVIDIA/DeepLearningExamples"},
    {"se_resnext101_32x4d", DType::f16, 112, "V100-SXM2-16GB", "NVIDIA/DeepLearningExamples"},
    {"resnet50_v1.5", DType::f16, 320, "V100-SXM2-16GB", "Oneflow-Inc/DLPerf, TensorFlow 2"},
    {"jasper_10x5", DType::f32, 16, "V100-SXM2-16GB", "NVIDIA/DeepLearningExamples"},
    {"quartznet_15x5", DType::f32, 24, "V100-SXM3-32GB", "NVIDIA/DeepLearningExamples"}};

TEST(PublishedTrainings, AreNotRefusedForMemory) {
  const DeviceCatalogue catalogue = DeviceCatalogue::load();
  Cluster cluster;
  for (const PublishedTraining& ran : published_trainings) {
    cluster.device = nominal_device(catalogue.at(ran.gpu), Seconds(1e-6));
    Notes notes;
    const Network network = load_network_for(ran.network, ran.tokens);
    EXPECT_NO_THROW(check_memory(network, cluster, run_of(ran.batch, ran.dtype), notes))
        << ran.network << ", " << ran.batch << " samples on " << ran.gpu << ", " << ran.source;
  }
}

/// Parameters, and outputs for one image in f32 with ReLU in place, as others counted them, in MiB
/// [albanie/convnet-burden].
TEST(MemoryNeed, OfConvolutionalNetworksIsWhatOthersCounted) {
  struct Counted {
    const char* network;
    double parameters;
    double outputs;
  };
  constexpr double mebibyte = 1 << 20;
  for (const auto& [name, parameters, outputs] : std::vector<Counted>{{"vgg16", 528, 58},
                                                                      {"vgg19", 548, 63},
                                                                      {"googlenet", 51, 26},
                                                                      {"resnet50", 98, 103},
                                                                      {"resnet101", 170, 155},
                                                                      {"resnet152", 230, 219}}) {
    const MemoryNeed need = memory_need(load_network(name), DeviceKind::gpu, run_of(1));
    EXPECT_NEAR(need.parameters.si() / mebibyte, parameters, 1) << name;
    EXPECT_NEAR(need.activations.si() / mebibyte, outputs, 0.05 * outputs) << name;
  }
}

/// VGG-16 with 256 images takes 28 GB [arXiv:1602.08124, abstract].
TEST(MemoryNeed, OfVggIsWhatItsTrainingTook) {
  const MemoryNeed need = memory_need(load_network("vgg16"), DeviceKind::gpu, run_of(256));
  EXPECT_NEAR(need.total().si(), 28e9, 0.15 * 28e9);
  EXPECT_LT(need.least().si(), 28e9);
  EXPECT_GT(need.most().si(), 28e9);
}

/// Twice the batches that these authors raised until memory was full.
TEST(PublishedTrainings, OfTwiceTheLargestBatchAreNoted) {
  const DeviceCatalogue catalogue = DeviceCatalogue::load();
  const Network network = load_network("resnet50");
  for (const auto& [gpu, batch] :
       std::map<std::string, int>{{"RTX 3090", 224}, {"RTX A6000", 496}, {"A100-SXM4-80GB", 640}}) {
    const Bytes memory = usable_memory(catalogue.at(gpu).memory);
    EXPECT_GT(memory_need(network, DeviceKind::gpu, run_of(2 * batch)).total(), memory) << gpu;
  }
}

TEST(MemoryNeed, OfSixteenBitsIsHalfBesideMasterWeights) {
  const MemoryNeed need = memory_need(small(), DeviceKind::cpu, run_of(2, DType::bf16));
  EXPECT_EQ(need.parameters.si(), 4 * 1514);
  EXPECT_EQ(need.states.si(), 10 * 1514);
  EXPECT_EQ(need.activations.si(), 2 * (2 * (48 + 128 + 10 + 1) + 4 * 10));  // loss in f32
  EXPECT_EQ(need.least_states.si(), 4 * 1514);
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
  const double libraries = memory::library_memory(0).high;
  for (const double memory : {libraries, libraries + 1e6, libraries + 1.234e7}) {
    for (const MemoryBound bound : {MemoryBound::least, MemoryBound::about}) {
      const int largest = largest_batch(network, DeviceKind::gpu, run_of(1), Bytes(memory), bound);
      const auto need = [&](int batch) {
        const MemoryNeed all = memory_need(network, DeviceKind::gpu, run_of(batch));
        return (bound == MemoryBound::least ? all.least() : all.total()).si();
      };
      EXPECT_LE(need(largest), memory);
      EXPECT_GT(need(largest + 1), memory);
    }
  }
  EXPECT_EQ(largest_batch(network, DeviceKind::gpu, run_of(1), Bytes(1000), MemoryBound::least), 0);
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
  [[nodiscard]] int largest(MemoryBound bound) const {
    const TrainingRun run = run_of(1);
    return largest_batch(network_, DeviceKind::gpu, run, memory_of_rank(machine_.cluster, run),
                         bound);
  }
  int largest_ = largest(MemoryBound::about);
};

TEST_F(OnH200, WhatFitsIsPredictedWithoutAWord) {
  EXPECT_FALSE(mentions(predicted(largest_), "without workspace"));
}

TEST_F(OnH200, WhatMayNotFitIsNoted) {
  const Prediction p = predicted(largest_ + 1);
  EXPECT_TRUE(mentions(p, "needs about 150.6 GB of the 150.6 GB of each rank")) << all(p.notes);
  EXPECT_TRUE(mentions(p, "largest batch that fits is about " + std::to_string(largest_)))
      << all(p.notes);
}

TEST_F(OnH200, WhatCannotFitIsRefusedWithWhatDoes) {
  const std::string problem = refusal(3 * largest_);
  test::expect_contains(problem, "needs at least");
  const int most = largest(MemoryBound::least);
  EXPECT_GT(most, largest_);
  test::expect_contains(problem, "Ask for a batch of " + std::to_string(most) + " or less.");
  EXPECT_NO_THROW(static_cast<void>(predicted(most)));
  EXPECT_THROW(static_cast<void>(predicted(most + 1)), ConfigError);
  EXPECT_THROW(layer_times(network_, machine_, run_of(3 * largest_)), ConfigError);
}

TEST_F(OnH200, NothingIsSaidWhereNoMemoryIsStated) {
  machine_.cluster.device.memory = Bytes();
  EXPECT_FALSE(mentions(predicted(3 * largest_), "without workspace"));
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
