#include "model/published/scaling/facts/framework_traits.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/core/support.hpp"
#include "tests/model/scaling/example_case.hpp"

namespace dlscale::model::scaling {
namespace {

FrameworkTraits traits(std::string_view text) {
  std::vector<std::string> guesses;
  FrameworkTraits found = framework_traits(text, "", test::sources().frameworks, guesses);
  EXPECT_TRUE(guesses.empty()) << text;
  return found;
}

TEST(FrameworkTraits, OfServersSayHowANodeAddsAndWhatCarriesTheSum) {
  const FrameworkTraits byteps = traits("PyTorch 1.4 + BytePS 0.2");
  EXPECT_EQ(byteps.node_sum, NodeSum::ring);
  EXPECT_TRUE(byteps.eager);          // as of PyTorch
  EXPECT_FALSE(byteps.over_sockets);  // it can use RDMA
  const FrameworkTraits mxnet = traits("MXNet kvstore dist_device_sync");
  EXPECT_EQ(mxnet.node_sum, NodeSum::star);
  EXPECT_TRUE(mxnet.over_sockets);
  EXPECT_FALSE(mxnet.eager);
  EXPECT_EQ(traits("MXNet kvstore dist_sync").node_sum, NodeSum::host);
  EXPECT_EQ(traits("TensorFlow 1.1-1.2 tf_cnn_benchmarks: parameter_server/cpu").node_sum,
            NodeSum::host);
}

TEST(FrameworkTraits, OfBertSayThatGradientsLeaveInOneMessage) {
  std::vector<std::string> guesses;
  const auto grouping = [&](std::string_view text, std::string_view network) {
    return framework_traits(text, network, test::sources().frameworks, guesses).grouping;
  };
  for (const char* text : {"PyTorch (NGC, DeepLearningExamples)", "NGC PyTorch"}) {
    EXPECT_EQ(grouping(text, "BERT-Base, 128 tokens"), Grouping::single) << text;
    EXPECT_EQ(grouping(text, "BERT-Large, 384 tokens"), Grouping::by_bytes) << text;
    EXPECT_EQ(grouping(text, "ResNet-50"), Grouping::by_bytes) << text;
  }
  EXPECT_EQ(grouping("PyTorch NVIDIA Release 20.06", "BERT-Large, 512 tokens"), Grouping::single);
  EXPECT_EQ(grouping("PyTorch NVIDIA Release 23.04", "BERT-Large, 512 tokens"), Grouping::by_bytes);
  EXPECT_EQ(grouping("PyTorch NVIDIA Release 19.05", "SSD300-ResNet-34"), Grouping::single);
  EXPECT_TRUE(guesses.empty());
}

TEST(FrameworkTraits, OfABundleOfContainersAreThoseOfTheNetwork) {
  std::vector<std::string> guesses;
  const auto family = [&](std::string_view network) {
    return framework_traits("NGC MXNet 21.09 , NGC PyTorch 21.09 , NGC TensorFlow 21.09-tf1",
                            network, test::sources().frameworks, guesses)
        .family;
  };
  EXPECT_EQ(family("ResNet-50").substr(0, 5), "MXNet");
  EXPECT_EQ(family("SSD300-ResNet-34").substr(0, 5), "MXNet");
  EXPECT_EQ(family("BERT-Large, 512 tokens").substr(0, 7), "PyTorch");
}

TEST(FrameworkTraits, MayBeOfANetworkOnly) {
  std::vector<std::string> guesses;
  const auto over_sockets = [&](std::string_view network) {
    return framework_traits("PaddlePaddle: batch size=32 & without xla", network,
                            test::sources().frameworks, guesses)
        .over_sockets;
  };
  EXPECT_TRUE(over_sockets("BERT-Base"));
  EXPECT_FALSE(over_sockets("ResNet-50"));
}

TEST(StatedRelease, IsOfContainersAndVersions) {
  const std::vector<std::pair<const char*, ReleaseMonth>> all{
      {"PyTorch NVIDIA Release 20.06", {2020, 6}},
      {"NGC MXNet 21.05 , NGC PyTorch 21.09 , NGC TensorFlow 21.05-tf1", {2021, 9}},
      {"MXNet NGC 18.11", {2018, 11}},
      {"nvcr.io/nvidia/tensorflow:19.12-tf2-py3", {2019, 12}},
      {"PyTorch 1.4 + Horovod 0.19", {2020, 1}},
      {"PyTorch 1.13.1", {2022, 10}},
      {"pytorch v2.0", {2023, 3}},
      {"torch==1.8.1", {2021, 3}},
      {"TensorFlow 1.1-1.2 tf_cnn_benchmarks", {2017, 4}},
      {"TensorFlow 1.10", {2018, 8}},
      {"NVCaffe 0.16 (B-Caffe)", {2017, 2}}};
  for (const auto& [text, month] : all) EXPECT_EQ(stated_release(text), month) << text;
  for (const char* text :
       {"", "PyTorch", "TensorFlow2: batch size = 64", "PyTorch 9.9", "1.4", "driver 450.80.02",
        "21.13", "99999999999.99999999999", "21.", ".05", "CUDA 11.06.3"}) {
    EXPECT_FALSE(stated_release(text)) << text;
  }
}

TEST(FrameworkTraits, OfHorovodAreACoordinatorAndItsCycle) {
  for (const char* text :
       {"PyTorch 1.4 + Horovod 0.19", "TensorFlow (NGC, DeepLearningExamples)",
        "MxNet (NGC, DeepLearningExamples)", "MXNet-gluon: Batch size = 64",
        "NGC-TensorFlow1: batch size=32 & without xla", "Keras 2.2 + Horovod",
        "MXNet NVIDIA Release 19.05", "tf_cnn_benchmarks with Horovod", "Horovod + PyTorch"}) {
    const FrameworkTraits found = traits(text);
    EXPECT_TRUE(found.coordinator) << text;
    EXPECT_EQ(found.fusion_cycle, 5.0_ms) << text;
    EXPECT_EQ(found.grouping, Grouping::by_time) << text;
    EXPECT_EQ(found.bucket, 64_MiB) << text;
    EXPECT_FALSE(found.unfused) << text;
    EXPECT_FALSE(found.graphs || found.rings_only) << text;
  }
  EXPECT_EQ(traits("TensorFlow 2.7 + Horovod").fusion_cycle, 1.0_ms);
  EXPECT_EQ(traits("PyTorch + Horovod 0.23").bucket, 128_MiB);
  EXPECT_TRUE(traits("PyTorch + Horovod (MG-WFBP)").coordinator);
  EXPECT_TRUE(traits("ByteScheduler over Horovod").coordinator);
  EXPECT_FALSE(traits("PyTorch + BytePS").coordinator);
}

TEST(FrameworkTraits, OfPyTorchAreBucketsAndAnInterpreter) {
  for (const char* text : {"PyTorch (NGC) resnet50", "NGC-PyTorch: FP32", "PyTorch DDP",
                           "PyTorch NVIDIA Release 19.05", "PyTorch 1.13", "Colossal-AI",
                           "torch 1.8 DDP", "fairseq", "Hugging Face accelerate"}) {
    const FrameworkTraits found = traits(text);
    EXPECT_FALSE(found.coordinator) << text;
    EXPECT_EQ(found.grouping, Grouping::by_bytes) << text;
    EXPECT_EQ(found.first_bucket, 1_MiB) << text;
    EXPECT_EQ(found.bucket, 25_MiB) << text;
    EXPECT_TRUE(found.eager) << text;
    EXPECT_FALSE(found.graphs) << text;
  }
}

TEST(FrameworkTraits, KernelsAreLaunchedByTheFrameworkThatComputes) {
  for (const char* text :
       {"PyTorch 1.4 + Horovod 0.19", "PyTorch + Horovod (MG-WFBP)", "BytePS with PyTorch 1.5"}) {
    EXPECT_TRUE(traits(text).eager) << text;
  }
  EXPECT_TRUE(traits("MXNet NVIDIA Release 20.06").graphs);  // of MLPerf 0.7
  for (const char* text : {"TensorFlow 1.15 + Horovod", "Horovod", "MXNet NVIDIA Release 19.05",
                           "tf_cnn_benchmarks with Horovod"}) {
    EXPECT_FALSE(traits(text).eager || traits(text).graphs) << text;
  }
}

TEST(FrameworkTraits, OfWhatIsSubmittedToMlperfSince2021AreRecordedGraphs) {
  const FrameworkTraits pytorch = traits("PyTorch NVIDIA Release 21.09");
  EXPECT_TRUE(pytorch.graphs);
  EXPECT_FALSE(pytorch.eager);
  EXPECT_EQ(pytorch.bucket, 25_MiB);
  const char* list = "NGC MXNet 21.05 , NGC PyTorch 21.05 , NGC TensorFlow 21.05-tf1";
  EXPECT_EQ(traits(list).family, pytorch.family);
  EXPECT_TRUE(traits("NGC MXNet 20.06 , NGC PyTorch 20.06 , NGC TensorFlow 20.06-tf1").eager);
  for (const char* text : {"MxNet NVIDIA Release 21.09", "MXNet NVIDIA Release 22.04"}) {
    const FrameworkTraits mxnet = traits(text);
    EXPECT_TRUE(mxnet.graphs && mxnet.coordinator) << text;
    EXPECT_EQ(mxnet.grouping, Grouping::single) << text;
    EXPECT_EQ(mxnet.fusion_cycle, 0.1_ms) << text;
  }
}

TEST(FrameworkTraits, OfOldReleasesAreRings) {
  for (const char* text :
       {"MXNet NGC 18.11", "TensorFlow 1.3: tensorpack fake-location=gpu",
        "TensorFlow 1.3: tensorflow/benchmarks", "NVCaffe 0.16 (B-Caffe)", "PyTorch 1.0",
        "TensorFlow 1.1-1.2 tf_cnn_benchmarks: replicated (with NCCL)", "tf_cnn_benchmarks"}) {
    EXPECT_TRUE(traits(text).rings_only) << text;
  }
  EXPECT_FALSE(traits("MXNet NVIDIA Release 19.05").rings_only);
  // Before NCCL 2 there was one.
  EXPECT_TRUE(traits("TensorFlow 1.1-1.2 tf_cnn_benchmarks: replicated (with NCCL)").one_ring);
  EXPECT_FALSE(traits("MXNet NGC 18.11").one_ring);
  EXPECT_FALSE(traits("PyTorch 1.13").one_ring);
}

TEST(FrameworkTraits, TellWhatPassesTheHost) {
  EXPECT_TRUE(traits("NVCaffe 0.16 (B-Caffe)").over_host);
  EXPECT_FALSE(traits("OSU-Caffe").over_host);
  const FrameworkTraits mirrored = traits("TensorFlow2: batch size=32 & with xla");
  EXPECT_TRUE(mirrored.transport_unknown && !mirrored.over_sockets && mirrored.packs_all);
  EXPECT_EQ(mirrored.grouping, Grouping::single);
  EXPECT_EQ(traits("TensorFlow 2.4 MultiWorkerMirroredStrategy").family, mirrored.family);
  EXPECT_FALSE(traits("PyTorch").over_sockets || traits("PyTorch").packs_all);
  EXPECT_FALSE(traits("PyTorch").transport_unknown);
}

TEST(FrameworkTraits, OfOtherFrameworksAreThoseOfTheirProfiles) {
  EXPECT_EQ(traits("OneFlow: FP32 with clip").unfused, Grouping::by_time);
  EXPECT_EQ(traits("OneFlow: FP32 with clip").bucket, 16_MiB);
  EXPECT_EQ(traits("PaddlePaddle (NGC, DeepLearningExamples)").bucket, 32_MiB);
  EXPECT_EQ(traits("MindSpore: batch size=128").bucket, Bytes(64e6));
  for (const char* text : {"Megatron-LM", "DeepSpeed 0.3", "ChainerMN", "Chainer", "CNTK 2.0"}) {
    EXPECT_TRUE(traits(text).packs_all) << text;
  }
  for (const char* text : {"JAX 0.4", "MXNet kvstore dist_sync", "Caffe-MPI 2.0"}) {
    EXPECT_FALSE(traits(text).packs_all) << text;
  }
}

TEST(FrameworkTraits, OfWhatNobodyKnowsAreGuessed) {
  std::vector<std::string> guesses;
  const FrameworkTraits found =
      framework_traits("Something else 18.04", "", test::sources().frameworks, guesses);
  ASSERT_EQ(guesses.size(), 1U);
  dlscale::test::expect_contains(guesses[0], "Something else");
  EXPECT_EQ(found.bucket, Bytes(64e6));
  EXPECT_EQ(found.grouping, Grouping::by_bytes);
  EXPECT_TRUE(found.rings_only);
}

/// Any words give traits that messages can be grouped by, and at most one sentence.
TEST(FrameworkTraits, AreThereForAnyText) {
  std::mt19937 random(11);  // NOLINT: the same texts every time
  const std::vector<std::string_view> words{"PyTorch", " 1.",  "Horovod", "2",
                                            ".05",     " + ",  "NGC ",    "tf_cnn_benchmarks",
                                            "*",       "\xff", "99999",   "MXNet"};
  for (int round = 0; round < 300; ++round) {
    std::string text;
    const auto count = random() % 8;
    for (unsigned i = 0; i < count; ++i) text += words[random() % words.size()];
    std::vector<std::string> guesses;
    const FrameworkTraits found = framework_traits(text, "", test::sources().frameworks, guesses);
    EXPECT_GT(found.bucket, Bytes()) << text;
    EXPECT_GT(found.first_bucket, Bytes()) << text;
    EXPECT_LE(found.first_bucket, found.bucket) << text;
    EXPECT_EQ(found.family.empty(), !guesses.empty()) << text;
    EXPECT_LE(guesses.size(), 1U) << text;
  }
}

}  // namespace
}  // namespace dlscale::model::scaling
