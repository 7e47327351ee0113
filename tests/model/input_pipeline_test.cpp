#include "model/sgd_iter/costs/input_pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <stdexcept>
#include <string>

#include "core/base/units.hpp"
#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/predict.hpp"
#include "model/what_if/explain.hpp"
#include "tests/core/support.hpp"
#include "tests/model/independent_forms.hpp"

namespace dlscale::model {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// The mean record of ImageNet's TFRecords.
/// [argonne-lcf/dlio_benchmark and mlcommons/storage, workload files of ResNet-50]
constexpr Bytes input_pipeline_record(114660.07);

SampleCost input_pipeline_picture() {
  return {input_pipeline_record, 2.5_ms};
}
InputNode node() {
  return {0.2_GBps, 16};
}

/// Reading beside threads that decode, and computing beside both.
TEST(InputRateTest, BoundsAnIterationOfTheTaskGraph) {
  const int workers = 4;
  const int batch = 32;
  for (const double read : {1e8, 5e8, 5e9}) {
    for (const double compute : {0.01, 0.03, 0.5}) {
      InputNode on = node();
      on.read = BytesPerSecond(read);
      IterationPlan plan;
      plan.storage = workers * batch * input_pipeline_record / *on.read;
      plan.loader_threads = on.threads / workers;
      plan.load = batch * input_pipeline_picture().decode / plan.loader_threads;
      plan.backward.push_back({Seconds(compute), {}});
      const double io = workers * batch / input_rate(input_pipeline_picture(), on).samples_per_s;
      EXPECT_NEAR(simulate_iteration(plan).total.si() / std::max(io, compute), 1, 1e-9);
    }
  }
}

TEST(InputRateTest, IsThatOfTheSlowerStage) {
  const InputRate read = input_rate(input_pipeline_picture(), node());
  EXPECT_EQ(read.bound, InputStage::read);
  EXPECT_NEAR(read.samples_per_s, 0.2e9 / input_pipeline_record.si(), 1e-6);  // of 6400 decoded
  InputNode fast = node();
  fast.read = 5.0_GBps;
  EXPECT_EQ(input_rate(input_pipeline_picture(), fast).bound, InputStage::decode);
  EXPECT_NEAR(input_rate(input_pipeline_picture(), fast).samples_per_s, 6400, 1e-9);
  fast.read.reset();  // not known, and no bound
  EXPECT_NEAR(input_rate(input_pipeline_picture(), fast).samples_per_s, 6400, 1e-9);
}

TEST(SharedStorage, GivesEachNodeItsPartAndNoMoreThanItsOwnLink) {
  EXPECT_EQ(shared_read(1.0_GBps, 8.0_GBps, 4), 1.0_GBps);
  EXPECT_EQ(shared_read(1.0_GBps, 8.0_GBps, 16), 0.5_GBps);
}

/// CIFAR's pictures of 32 × 32 pixels are not decoded as ImageNet's.
TEST(PictureShare, FollowsPixelsOfSmallPictures) {
  EXPECT_EQ(picture_share(load_network("resnet50")), 1);
  EXPECT_EQ(picture_share(load_network("unet")), 1);
  EXPECT_EQ(picture_share(load_network("bert_base")), 1);
  const Network small = load_network("resnet110_v2");
  EXPECT_NEAR(picture_share(small), 32.0 * 32 / (224 * 224), 1e-12);
  const Machine machine = nominal_machine(load_cluster("frontera"));
  dlscale::Run run;
  run.network = "asked";
  run.cluster = "frontera";
  const std::array ranks{1};
  const auto load = [&](const Network& network) {
    return predict(network, machine, run, ranks).front().time.load;
  };
  EXPECT_NEAR(load(small) / load(load_network("resnet50")), picture_share(small), 1e-9);
}

TEST(PictureShare, GrowsWithoutAJump) {
  double before = 0;
  for (int side = 16; side <= 512; side *= 2) {
    const Network network(
        "asked", {3, side, side},
        {{"fc", FullyConnected{10, true}, {"input"}}, {"loss", SoftmaxCrossEntropy{}, {"fc"}}});
    EXPECT_GE(picture_share(network), before);
    EXPECT_LE(picture_share(network), 1);
    if (before > 0) EXPECT_LE(picture_share(network), 4 * before);
    before = picture_share(network);
  }
  EXPECT_EQ(before, 1);
}

TEST(AcceleratorUtilisation, IsTheShareOfComputing) {
  EXPECT_DOUBLE_EQ(accelerator_utilisation(Seconds(0.9), Seconds(0.1)), 0.9);
  EXPECT_EQ(accelerator_utilisation(Seconds(1), Seconds()), 1);
}

/// Of a machine whose disk, or decoding, is too slow for what its devices take.
TEST(InputSentence, NamesTheStageThatBoundsAndWhatWouldBeEnough) {
  const auto told = [](BytesPerSecond read, int threads, Seconds decode = 2.8_ms) {
    Cluster cluster = load_cluster("v100x16_ib100");
    cluster.storage = {read, false, "test"};
    cluster.host.decode = decode;
    const Machine machine = nominal_machine(cluster);
    dlscale::Run run;
    run.network = "alexnet";
    run.cluster = machine.cluster.name;
    run.batch = 64;
    run.ranks_per_node = machine.cluster.devices_per_node;
    run.loader_threads = threads;
    run.input_copy = InputCopy::ahead;
    run.normalisation = Normalisation::device;
    const std::array ranks{4};
    const Network network = load_network("alexnet");
    const Prediction one = predict(network, machine, run, ranks).front();
    return input_sentence(network, machine, one);
  };
  const std::string disk = told(0.1_GBps, 64);
  test::expect_contains(disk, "storage delivers 909 of the");
  test::expect_contains(disk, "of a node would take");
  const std::string decoding = told(100.0_GBps, 2);
  test::expect_contains(decoding, "8 loader threads decode");
  test::expect_contains(decoding, "for each rank would be enough");
  const std::string cores = told(100.0_GBps, 60, 11.2_ms);
  test::expect_contains(cores, " cores decode");
  EXPECT_EQ(told(100.0_GBps, 6, 1.0_us), "");  // input bounds nothing
}

/// How much longer 160 iterations take where batch 100 is late, batch by batch: a thread that reads
/// may begin a batch once the batch `prefetch` before has been taken.
Seconds delay_of_late_batch(Seconds io, Seconds late, Seconds compute, int prefetch) {
  const auto end = [&](Seconds of_100) {
    Seconds read;
    Seconds free;  // when the device has computed the batch before
    std::deque<Seconds> taken;
    for (int k = 0; k < 160; ++k) {
      if (static_cast<int>(taken.size()) == prefetch) {
        read = std::max(read, taken.front());
        taken.pop_front();
      }
      read += k == 100 ? of_100 : io;
      taken.push_back(std::max(read, free));
      free = taken.back() + compute;
    }
    return free;
  };
  return end(late) - end(io);
}

TEST(LateBatch, IsHiddenByAsManyIterationsAsAreReadAhead) {
  const Seconds compute(0.2);
  const Seconds io(0.1);
  for (const int prefetch : {1, 2, 3, 8}) {
    for (const double late : {0.1, 0.2, 0.35, 0.5, 0.9, 2.5}) {
      EXPECT_NEAR(late_batch_stall(Seconds(late), compute, prefetch).si(),
                  delay_of_late_batch(io, Seconds(late), compute, prefetch).si(), 1e-12)
          << late << " s, " << prefetch << " ahead";
    }
  }
}

TEST(Input, OfImpossibleNodesIsACallersMistake) {
  const auto refuses = [](const auto& change) {
    SampleCost sample = input_pipeline_picture();
    InputNode on = node();
    change(sample, on);
    EXPECT_THROW((void)input_rate(sample, on), std::logic_error);
  };
  refuses([](SampleCost&, InputNode& on) { on.threads = 0; });
  refuses([](SampleCost&, InputNode& on) { on.read = BytesPerSecond(); });
  refuses([](SampleCost&, InputNode& on) { on.read = BytesPerSecond(infinity); });
  refuses([](SampleCost& sample, InputNode&) { sample.stored = Bytes(); });
  refuses([](SampleCost& sample, InputNode&) { sample.decode = Seconds(-1); });
  EXPECT_THROW((void)shared_read(1.0_GBps, 1.0_GBps, 0.5), std::logic_error);
  EXPECT_THROW((void)required_read(infinity, input_pipeline_record), std::logic_error);
  EXPECT_THROW((void)accelerator_utilisation(Seconds(), Seconds(1)), std::logic_error);
}

}  // namespace
}  // namespace dlscale::model
