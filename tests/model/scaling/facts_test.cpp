#include "model/published/scaling/facts/facts.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string_view>

#include "model/published/cases/case_file.hpp"
#include "tests/core/support.hpp"
#include "tests/model/scaling/example_case.hpp"

namespace dlscale::model::scaling {
namespace {

TrainingFacts facts(const cases::ScalingCase& training) {
  return training_facts(training, test::sources());
}

TEST(TrainingFacts, AreThoseOfTheCaseAndOfDataSheets) {
  const TrainingFacts found = facts(test::example_case());
  EXPECT_TRUE(found.guesses.empty());
  EXPECT_DOUBLE_EQ(found.gradient.si(), 4.0 * 25557032);
  EXPECT_EQ(found.profile.source, TensorSource::layers);
  EXPECT_EQ(found.given.gpus, 1);
  EXPECT_EQ(found.given.nodes, 1);
  EXPECT_DOUBLE_EQ(found.given_iteration.si(), 0.2);
  EXPECT_FALSE(found.given_computes_only);
  EXPECT_EQ(found.asked.gpus, 16);
  EXPECT_EQ(found.asked.nodes, 2);
  EXPECT_EQ(found.asked.gpus_on_node, 8);
  EXPECT_EQ(found.batch, 64);
  EXPECT_EQ(found.sample, Bytes(224.0 * 224 * 3 * 4));
  EXPECT_FALSE(found.uneven_samples);
  EXPECT_EQ(found.node_fabric, NodeFabric::mesh);
  EXPECT_EQ(found.node_bandwidth, BytesPerSecond(150e9));
  EXPECT_EQ(found.node_links, 6);
  EXPECT_EQ(found.cluster_fabric, ClusterFabric::rdma);
  EXPECT_EQ(found.cluster_bandwidth, BytesPerSecond(12.5e9));
  EXPECT_EQ(found.cards, 1);
  EXPECT_TRUE(found.notes.empty());
  EXPECT_EQ(found.memory_bandwidth, BytesPerSecond(900e9));
  EXPECT_EQ(found.launched, 2017);
  EXPECT_TRUE(found.framework.coordinator);
}

cases::ScalingCase on_servers(const char* framework) {
  cases::ScalingCase training = test::example_case();
  training.network.name = "AlexNet";
  training.network.parameters = 61'100'840;
  training.gpus = training.run.parallel.dp = 16;
  training.gpus_per_node = 4;
  training.nodes = 4;
  training.run.framework = framework;
  training.run.synchronisation = cases::Synchronisation::parameter_server;
  return training;
}

TEST(TrainingFacts, GiveParametersToServersAsTheFrameworkDoes) {
  const auto busiest = [](const char* framework) {
    return facts(on_servers(framework)).asked.busiest_server;
  };
  // Its weights, one tower: 23232, 307200, 663552, 884736, 589824, 37748736, 16777216, 4096000.
  constexpr double cut = (37'748'736 + 16'777'216 + 4'096'000) / 4.0;
  constexpr double even = 61'100'840 / 4.0;
  EXPECT_NEAR(busiest("MXNet 0.10"), (cut + 23'232 + 663'552 + 589'824) / even, 1e-9);
  const char* in_turn = "TensorFlow 1.2 tf_cnn_benchmarks: distributed_replicated";
  EXPECT_NEAR(busiest(in_turn), (307'200 + 884'736 + 37'748'736 + 4'096'000) / even, 1e-9);
  // conv2's weights and conv5's bias are where fc6 comes to.
  EXPECT_NEAR(busiest("TensorFlow 1.2 parameter server"), (307'200 + 256 + 37'748'736) / even,
              1e-9);
  EXPECT_EQ(facts(on_servers(in_turn)).given.busiest_server, 1);
}

TEST(TrainingFacts, TakeServersForEvenWhereNothingTellsThemApart) {
  const auto busiest = [](const cases::ScalingCase& training) {
    return facts(training).asked.busiest_server;
  };
  const char* in_turn = "TensorFlow 1.2 tf_cnn_benchmarks: distributed_replicated";
  cases::ScalingCase training = on_servers(in_turn);
  training.network.name = "Nobody's net";
  EXPECT_EQ(busiest(training), 1);  // of layers that nobody knows
  EXPECT_EQ(busiest(on_servers("BytePS 0.2")), 1);
  training = on_servers(in_turn);
  training.run.synchronisation = cases::Synchronisation::all_reduce;
  EXPECT_EQ(busiest(training), 1);
  training = on_servers(in_turn);
  training.gpus = training.run.parallel.dp = 400'004;
  const TrainingFacts many = facts(training);
  EXPECT_EQ(many.asked.busiest_server, 1);
  ASSERT_EQ(many.guesses.size(), 1U);
  dlscale::test::expect_contains(many.guesses[0], "100001 servers");
}

TEST(TrainingFacts, CountNodesThatAreNotFull) {
  cases::ScalingCase training = test::example_case();
  training.gpus = training.run.parallel.dp = 9;
  EXPECT_EQ(facts(training).asked.nodes, 2);
  training.gpus = training.run.parallel.dp = 4;
  EXPECT_EQ(facts(training).asked.nodes, 1);
  EXPECT_EQ(facts(training).asked.gpus_on_node, 4);
}

TEST(TrainingFacts, TellFabricsByTheirKind) {
  const auto fabric = [](const char* kind) {
    cases::ScalingCase training = test::example_case();
    training.cluster.intra_node.kind = kind;
    return facts(training).node_fabric;
  };
  EXPECT_EQ(fabric("nvlink1"), NodeFabric::mesh);
  EXPECT_EQ(fabric("nvswitch2"), NodeFabric::switched);
  EXPECT_EQ(fabric("nvlink3"), NodeFabric::switched);
  EXPECT_EQ(fabric("nvlink5"), NodeFabric::switched);
  EXPECT_EQ(fabric("pcie4x16"), NodeFabric::pcie);
  const auto between = [](const char* kind) {
    cases::ScalingCase training = test::example_case();
    training.cluster.inter_node->kind = kind;
    return facts(training).cluster_fabric;
  };
  EXPECT_EQ(between("ethernet-tcp"), ClusterFabric::tcp);
  for (const char* kind : {"infiniband-rdma", "roce", "efa", "slingshot", "aries", "omni-path"}) {
    EXPECT_EQ(between(kind), ClusterFabric::rdma) << kind;
  }
  cases::ScalingCase one_node = test::example_case();
  one_node.gpus = one_node.run.parallel.dp = 8;
  one_node.cluster.inter_node.reset();
  EXPECT_EQ(facts(one_node).cluster_fabric, ClusterFabric::none);
}

TEST(TrainingFacts, OfSamplesAreByNetworkAndUnit) {
  cases::ScalingCase training = test::example_case();
  training.network = test::bert_base();
  training.sample_unit = "sequence";
  EXPECT_EQ(facts(training).sample, Bytes());
  EXPECT_FALSE(facts(training).uneven_samples);
  for (const char* name : {"Transformer-Big", "GNMT", "Jasper-10x5", "QuartzNet-15x5", "RNN-T",
                           "Mask-R-CNN-ResNet-50-FPN", "EfficientDet-D0", "DeepSpeech2"}) {
    training.network.name = name;
    EXPECT_TRUE(facts(training).uneven_samples) << name;
  }
  for (const char* name : {"Transformer-XL-Base", "SSD300-ResNet-34", "VGG-16"}) {
    training.network.name = name;
    EXPECT_FALSE(facts(training).uneven_samples) << name;
  }
}

TEST(TrainingFacts, KnowAPointThatOnlyComputes) {
  cases::ScalingCase training = test::example_case();
  for (const char* note :
       {"compute only, no communication", "Computation only", "pure computing", "compute-only time",
        "only forward and backward", "iteration without optimizer step",
        "One GPU. The time of computing alone; no communication", "measured (compute only)",
        "compute only, not including communication", "Forward and backward only"}) {
    training.given[0].note = note;
    EXPECT_TRUE(facts(training).given_computes_only) << note;
  }
  // No communication takes place on one GPU, whatever is timed.
  for (const char* note :
       {"", "no communication", "one GPU only", "compute node 7", "computed from one GPU alone",
        "not compute only", "This is not compute only.", "never without optimizer",
        "compute only, which it is not", "compute only, but with the update", "compute only?",
        "input not synthetic", "the compute only profile was left out", "no longer compute only",
        "isn't compute-only", "compute only if the log is right"}) {
    training.given[0].note = note;
    EXPECT_FALSE(facts(training).given_computes_only) << note;
  }
}

TEST(TrainingFacts, TakeWhatACaseStatesBeforeTheWordsOfItsNote) {
  cases::ScalingCase training = test::example_case();
  training.given[0].computes_only = true;
  EXPECT_TRUE(facts(training).given_computes_only);
  training.given[0].note = "compute only";
  training.given[0].computes_only = false;
  EXPECT_FALSE(facts(training).given_computes_only);
}

TEST(TrainingFacts, CountTheCardsOfANode) {
  cases::ScalingCase training = test::example_case();
  training.cluster.inter_node->nics = 4;
  EXPECT_EQ(facts(training).cards, 4);
  training.cluster.inter_node->nics.reset();
  EXPECT_EQ(facts(training).cards, 1);
}

TEST(TrainingFacts, SayWhatIsGuessed) {
  cases::ScalingCase training = test::example_case();
  training.cluster.gpu = "NVIDIA A100-SXM4-64GB custom";
  training.cluster.intra_node.kind = "xgmi";
  training.cluster.inter_node->kind = "25gbe";
  training.run.framework = "my own";
  const TrainingFacts found = facts(training);
  EXPECT_EQ(found.guesses.size(), 4U);
  // A similar name is of the same chip.
  EXPECT_EQ(found.launched, 2020);
  EXPECT_GT(found.memory_bandwidth, BytesPerSecond(1500e9));
  EXPECT_EQ(found.node_fabric, NodeFabric::pcie);
  EXPECT_EQ(found.cluster_fabric, ClusterFabric::tcp);
  training.cluster.gpu = "IPU";
  EXPECT_EQ(facts(training).memory_bandwidth, BytesPerSecond(900e9));
}

TEST(TrainingFacts, OfGpusWithoutDataSheetAreThoseOfTheMostSimilar) {
  const auto gpu = [](const char* name) {
    cases::ScalingCase training = test::example_case();
    training.cluster.gpu = name;
    return facts(training);
  };
  const TrainingFacts a100 = gpu("A100-SXM-80GB");
  ASSERT_EQ(a100.guesses.size(), 1U);
  dlscale::test::expect_contains(a100.guesses[0], "A100 SXM4 80 GB");
  EXPECT_EQ(gpu("Tesla V100-SXM2-64GB").memory_bandwidth, BytesPerSecond(900e9));
  EXPECT_EQ(gpu("RTX 3080").launched, 2020);
  EXPECT_EQ(gpu("L40S").launched, gpu("L40-PCIe-48GB").launched);
  // A letter in common is not enough.
  dlscale::test::expect_contains(gpu("A10").guesses[0], "a GPU of 2018");
}

TEST(TrainingFacts, OfGpusAreAsOldAsTheirChip) {
  cases::ScalingCase training = test::example_case();
  for (const char* name : {"V100-SXM2-32GB", "V100-PCIe-32GB", "V100-SXM3-32GB"}) {
    training.cluster.gpu = name;
    EXPECT_EQ(facts(training).launched, 2017) << name;
    EXPECT_TRUE(facts(training).guesses.empty()) << name;
  }
  training.cluster.gpu = "A100-PCIe-80GB";
  EXPECT_EQ(facts(training).launched, 2020);
}

void expect_refused(const cases::ScalingCase& training, std::string_view part) {
  const auto reason = not_covered(training);
  ASSERT_TRUE(reason) << part;
  EXPECT_NE(reason->find(part), std::string::npos) << *reason;
}

TEST(TrainingFacts, CoverDataParallelTrainingAlone) {
  EXPECT_FALSE(not_covered(test::example_case()));
  cases::ScalingCase training = test::example_case();
  training.run.parallel.tp = 2;
  training.run.parallel.dp = 8;
  expect_refused(training, "tp 2");
  training = test::example_case();
  training.run.parallel.ep = 8;
  expect_refused(training, "ep 8");
  training = test::example_case();
  training.run.parallel.dp = 8;
  expect_refused(training, "dp 8");
  training = test::example_case();
  training.run.parallel.zero_stage = 1;
  expect_refused(training, "sharded");
  training = test::example_case();
  training.run.synchronisation = cases::Synchronisation::fsdp;
  expect_refused(training, "sharded");
  training = test::example_case();
  training.run.synchronisation = cases::Synchronisation::other;
  expect_refused(training, "synchronised");
  training = test::example_case();
  training.given.clear();
  expect_refused(training, "given");
  training = test::example_case();
  training.gradient_element = Bytes();
  expect_refused(training, "gradients");
  training = test::example_case();
  training.cluster.inter_node.reset();
  expect_refused(training, "between its nodes");
  training = test::example_case();
  training.network.layers = 1'000'000'000'000;
  expect_refused(training, "1000000000000 layers");
}

/// The published cases, where they are present: none needs a guess.
TEST(TrainingFacts, OfAllPublishedCasesAreKnown) {
  const auto file = std::filesystem::path(DLSCALE_SHARED_DATA) / "validation" / "open.jsonl";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there";
  const cases::CaseFile open = cases::read_cases(file);
  for (const cases::ScalingCase& training : open.trainings) {
    ASSERT_FALSE(not_covered(training)) << training.id;
    const TrainingFacts found = facts(training);
    EXPECT_TRUE(found.guesses.empty()) << training.id << ": " << found.guesses.front();
    EXPECT_GT(found.given_iteration, Seconds()) << training.id;
    EXPECT_FALSE(message_lists(found).empty()) << training.id;
  }
}

}  // namespace
}  // namespace dlscale::model::scaling
