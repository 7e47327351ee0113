// Predictions for devices that run beside the host, and for their units.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>

#include "core/base/error.hpp"
#include "core/network/step.hpp"
#include "model/calibrate/calibrate.hpp"
#include "model/sgd_iter/layer_times.hpp"
#include "model/sgd_iter/predict.hpp"
#include "tests/core/support.hpp"
#include "tests/model/notes_of.hpp"
#include "tests/model/synthetic.hpp"
#include "tests/model/without_sheet.hpp"

namespace dlscale::model {
namespace {

using namespace synthetic;

using TrainingRun = dlscale::Run;  // gtest's fixtures have a Run() of their own

constexpr int batch = 8;

/// Workers of the synthetic machine as GPUs, on which neither loading nor copying shows.
class Gpus : public testing::Test {
 protected:
  void SetUp() override {
    machine_.cluster.device.kind = DeviceKind::gpu;
    for (LoaderFit& loader : machine_.loaders) {
      loader.read = loader.decode = loader.augment = Estimate<Seconds>::exact(Seconds(1e-12));
    }
  }
  [[nodiscard]] Prediction one(InputCopy copy = InputCopy::ahead) const {
    TrainingRun run;
    run.network = "branched";
    run.batch = batch;
    run.input_copy = copy;
    run.launch = launch_;
    run.normalisation = normalisation_;
    const int ranks[] = {1};
    return predict(network_, machine_, run, ranks).front();
  }
  /// The host needs so long for each step.
  void give(const Estimate<Seconds>& time) {
    for (KernelTime& kernel : machine_.kernels) kernel.give = time;
  }
  [[nodiscard]] std::vector<Step> steps() const {
    std::vector<Step> all = forward_steps(network_);
    const std::vector<Step> backward = backward_steps(network_);
    all.insert(all.end(), backward.begin(), backward.end());
    return all;
  }
  [[nodiscard]] double compute() const {
    double sum = 0;
    for (const Step step : steps()) {
      sum += kernel_seconds(work(network_, step, batch, DType::f32));
    }
    return sum;
  }
  [[nodiscard]] double update() const {
    return update_seconds(4 * static_cast<double>(network_.parameter_count()));
  }

  Launch launch_ = Launch::eager;
  Normalisation normalisation_ = Normalisation::host;
  Network network_ = branched();
  Machine machine_ = calibrate(two_workers(), results(network_, batch));
};

TEST_F(Gpus, HideTheCopyBehindTheIterationBefore) {
  const Prediction p = one();
  EXPECT_EQ(p.time.h2d.si(), 0);
  EXPECT_NEAR(p.time.total.si(), compute() + update(), 1e-6 * p.time.total.si());
  ASSERT_TRUE(p.closed_form) << p.closed_form_absent;
  const Prediction on_path = one(InputCopy::on_path);
  const double copy = copy_seconds(4 * batch * 3 * 16 * 16);
  EXPECT_NEAR(on_path.time.h2d.si(), copy, 1e-6 * copy);
  EXPECT_NEAR((on_path.time.total - p.time.total).si(), copy, 1e-6 * copy);
}

TEST_F(Gpus, CopyAQuarterOfTheBytesOfPicturesTheyNormalise) {
  normalisation_ = Normalisation::device;
  const Prediction p = one(InputCopy::on_path);
  const double copy = copy_seconds(batch * 3 * 16 * 16);
  EXPECT_NEAR(p.time.h2d.si(), copy, 1e-6 * copy);
  ASSERT_TRUE(p.closed_form) << p.closed_form_absent;
  EXPECT_NEAR(p.closed_form->h2d.si(), copy, 1e-6 * copy);
  EXPECT_NEAR(p.closed_form->total / p.time.total, 1, 1e-9);
  EXPECT_TRUE(mentions(p, NoteKind::device_normalization));
  normalisation_ = Normalisation::host;
  EXPECT_FALSE(mentions(one(InputCopy::on_path), "normalised on the device"));
}

TEST_F(Gpus, OnlyNormalisePictures) {
  machine_.cluster.device.kind = DeviceKind::cpu;
  normalisation_ = Normalisation::device;
  test::expect_contains(test::config_error([&] { static_cast<void>(one(InputCopy::on_path)); }),
                        "normalised on the host");
}

TEST_F(Gpus, AreAsFastAsBeforeWhereTheHostIsFaster) {
  const Prediction before = one();
  give(Estimate<Seconds>::exact(Seconds(1e-12)));
  const Prediction p = one();
  EXPECT_NEAR(p.time.total / before.time.total, 1, 1e-6);
  EXPECT_EQ(p.bound, before.bound);
  EXPECT_FALSE(mentions(p, NoteKind::kernel_launches));
  EXPECT_FALSE(p.closed_form);
}

TEST_F(Gpus, AreBoundByKernelLaunchesWhereTheHostIsSlower) {
  give(Estimate<Seconds>::exact(Seconds(1)));
  const Prediction p = one();
  const double last = kernel_seconds(work(network_, steps().back(), batch, DType::f32));
  const double expected = static_cast<double>(steps().size()) + last + update();
  EXPECT_NEAR(p.time.total.si(), expected, 1e-6);  // each given after the one before
  EXPECT_EQ(p.bound, "kernel launches");
  EXPECT_TRUE(mentions(p, NoteKind::kernel_launches));
}

TEST_F(Gpus, WidenTheirIntervalWithTheHostsTime) {
  give({Seconds(1), Seconds(0.9), Seconds(1.2)});
  const Prediction p = one();
  const auto all = static_cast<double>(steps().size());
  const double of_95_to_90 = 1.645 / 1.960;
  EXPECT_NEAR((p.time.total - *p.low).si(), of_95_to_90 * 0.1 * all, 1e-3);
  EXPECT_NEAR((*p.high - p.time.total).si(), of_95_to_90 * 0.2 * all, 1e-3);
}

TEST_F(Gpus, TakeTheMedianHostTimeForKernelsWithoutAndSaySo) {
  give(Estimate<Seconds>::exact(Seconds(1)));
  const Prediction known = one();
  const std::string key = kernel_key(network_, LayerId(3));  // conv2a
  for (KernelTime& kernel : machine_.kernels) {
    if (kernel.kernel == key) kernel.give.reset();
  }
  const Prediction p = one();
  EXPECT_EQ(p.time.total, known.time.total);
  EXPECT_TRUE(mentions(p, NoteKind::host_time_not_measured));
  EXPECT_FALSE(mentions(known, NoteKind::host_time_not_measured));
}

TEST_F(Gpus, WaitForTheHostToGiveInputAndUpdateToo) {
  for (AffineFit& fit : machine_.update) fit.give = Estimate<Seconds>::exact(Seconds(5));
  EXPECT_NEAR(one().time.total.si(), 5 + update(), 1e-6);
  for (AffineFit& fit : machine_.h2d) fit.give = Estimate<Seconds>::exact(Seconds(2));
  EXPECT_NEAR(one().time.total.si(), 7 + update(), 1e-6);
  EXPECT_NEAR(one().time.h2d.si(), 2, 1e-6);
}

TEST_F(Gpus, TakeGraphsAtOnce) {
  const Prediction at_once = one();
  give(Estimate<Seconds>::exact(Seconds(1)));
  const Prediction eager = one();
  launch_ = Launch::graph;
  const Prediction graph = one();
  EXPECT_EQ(graph.time.total, at_once.time.total);
  EXPECT_LT(graph.time.total, eager.time.total);
  EXPECT_EQ(graph.bound, "compute");
  EXPECT_TRUE(mentions(graph, NoteKind::graph_replay_free));
  EXPECT_FALSE(mentions(eager, NoteKind::graph_replay_free));
}

TEST_F(Gpus, SayThatGraphsChangeNothingWhereNoHostTimeIsKnown) {
  const Prediction eager = one();
  launch_ = Launch::graph;
  const Prediction graph = one();
  EXPECT_EQ(graph.time.total, eager.time.total);
  EXPECT_TRUE(mentions(graph, NoteKind::graph_launch_unknown)) << all(graph.notes);
  EXPECT_FALSE(mentions(eager, NoteKind::graph_launch_unknown));
}

/// Forward, backward and update, each of which the device begins later.
TEST_F(Gpus, BeginEachGraphAfterWhatThatTakes) {
  const auto nothing = Estimate<Seconds>::exact(Seconds());
  launch_ = Launch::graph;
  const Prediction before = one();
  machine_.graph_launch = GraphLaunch{nothing, nothing, nothing, "d.jsonl"};
  EXPECT_EQ(one().time.total, before.time.total);
  machine_.graph_launch->device_start = Estimate<Seconds>::exact(Seconds(0.25));
  const Prediction p = one();
  EXPECT_NEAR((p.time.total - before.time.total).si(), 3 * 0.25, 1e-9);
  EXPECT_NEAR((p.time.forward - before.time.forward).si(), 0.25, 1e-9);
  EXPECT_NEAR((p.time.update - before.time.update).si(), 0.25, 1e-9);
  ASSERT_TRUE(p.closed_form) << p.closed_form_absent;
  EXPECT_NEAR(p.closed_form->total / p.time.total, 1, 1e-9);
  EXPECT_TRUE(mentions(p, "the device starts it in 250.0 ms")) << all(p.notes);
  EXPECT_FALSE(mentions(p, NoteKind::graph_replay_free));
  launch_ = Launch::eager;
  EXPECT_FALSE(mentions(one(), "the device starts it"));
}

/// Each graph is given after the one before, in 10 s and 1 s for each kernel, and begun then.
TEST_F(Gpus, WaitForTheHostToGiveGraphsWhereThatTakesLonger) {
  give(Estimate<Seconds>::exact(Seconds(7)));  // by itself, which graphs save
  launch_ = Launch::graph;
  machine_.graph_launch = GraphLaunch{{Seconds(10), Seconds(9), Seconds(12)},
                                      Estimate<Seconds>::exact(Seconds(1)),
                                      Estimate<Seconds>::exact(Seconds()),
                                      "d.jsonl"};
  const Prediction p = one();
  const auto kernels = static_cast<double>(steps().size() + 1);
  EXPECT_NEAR(p.time.total.si(), 3 * 10 + kernels + update(), 1e-6);
  EXPECT_EQ(p.bound, "kernel launches");
  EXPECT_FALSE(p.closed_form);
  const double of_95_to_90 = 1.645 / 1.960;
  EXPECT_NEAR((p.time.total - *p.low).si(), of_95_to_90 * 3 * 1, 1e-3);
  EXPECT_NEAR((*p.high - p.time.total).si(), of_95_to_90 * 3 * 2, 1e-3);
}

/// A stretch for each message, and one for what is left.
TEST_F(Gpus, GiveAGraphUpToEachMessage) {
  launch_ = Launch::graph;
  TrainingRun run;
  run.network = "branched";
  run.batch = batch;
  run.ranks_per_node = 2;
  run.input_copy = InputCopy::ahead;
  run.launch = launch_;
  const int ranks[] = {2};
  const auto predicted = [&] { return predict(network_, machine_, run, ranks).front().time; };
  const Seconds before = predicted().backward;
  const auto nothing = Estimate<Seconds>::exact(Seconds());
  const auto start = Estimate<Seconds>::exact(Seconds(0.25));
  machine_.graph_launch = GraphLaunch{nothing, nothing, start, "d.jsonl"};
  std::set<std::size_t> ends{backward_steps(network_).size()};
  for (const Bucket& bucket : gradient_buckets(network_, run.schedule)) {
    ends.insert(ready_after(network_, backward_steps(network_), bucket) + 1);
  }
  EXPECT_GT(ends.size(), 2U);
  EXPECT_NEAR((predicted().backward - before).si(), 0.25 * static_cast<double>(ends.size()), 1e-9);
}

TEST_F(Gpus, OnlyAreGivenGraphs) {
  machine_.cluster.device.kind = DeviceKind::cpu;
  launch_ = Launch::graph;
  test::expect_contains(test::config_error([&] { static_cast<void>(one(InputCopy::on_path)); }),
                        "eager launches");
}

TEST_F(Gpus, OnlyCopyAhead) {
  machine_.cluster.device.kind = DeviceKind::cpu;
  EXPECT_NO_THROW(static_cast<void>(one(InputCopy::on_path)));
  test::expect_contains(test::config_error([&] { static_cast<void>(one()); }), "no copy engine");
  TrainingRun run;
  run.network = "branched";
  run.input_copy = InputCopy::ahead;
  EXPECT_THROW(layer_times(network_, machine_, run), ConfigError);
}

// Ceilings of data sheets.

Prediction alexnet_on(const char* cluster, DType dtype) {
  TrainingRun run;
  run.network = "alexnet";
  run.cluster = cluster;
  run.batch = 32;
  run.dtype = dtype;
  const int ranks[] = {1};
  return predict(load_network("alexnet"), nominal_machine(without_sheet(cluster)), run, ranks)
      .front();
}

/// Sum of the forward steps at a peak and a bandwidth, in operations and bytes a second.
double forward_roofline(DType dtype, double peak, double bandwidth) {
  const Network network = load_network("alexnet");
  double sum = 0;
  for (const Step step : forward_steps(network)) {
    const Work what = work(network, step, 32, dtype);
    sum += std::max(what.flops.si() / peak, what.bytes.si() / bandwidth) + 3.8e-6;
  }
  return sum;
}

TEST(Ceiling, IsThatOfTheRunsPrecision) {
  struct Case {
    const char* cluster;
    DType dtype;
    double peak;
    double bandwidth;
  };
  for (const Case& one : {Case{"dgx1", DType::f32, 15.7e12, 900e9},
                          {"dgx1", DType::f16, 125e12, 900e9},
                          {"h200x8", DType::f32, 66.9e12, 4.8e12},
                          {"h200x8", DType::tf32, 494.7e12, 4.8e12},
                          {"h200x8", DType::bf16, 989.4e12, 4.8e12},
                          {"h200x8", DType::f16, 989.4e12, 4.8e12}}) {
    const Prediction p = alexnet_on(one.cluster, one.dtype);
    const double expected = forward_roofline(one.dtype, one.peak, one.bandwidth);
    EXPECT_NEAR(p.time.forward.si(), expected, 1e-9 * expected) << one.cluster;
    EXPECT_FALSE(mentions(p, NoteKind::no_peak)) << one.cluster;
  }
}

TEST(Ceiling, OfF16IsThatOfF32WhereThereAreNoUnitsForIt) {
  const Prediction p = alexnet_on("p40x16", DType::f16);
  const double expected = forward_roofline(DType::f16, 11.76e12, 346e9);
  EXPECT_NEAR(p.time.forward.si(), expected, 1e-9 * expected);
  EXPECT_TRUE(mentions(p, "states no peak in f16: f16 in memory, computed at the peak of f32"));
}

TEST(Ceiling, IsRefusedWhereNothingComputesInThePrecision) {
  EXPECT_THROW(alexnet_on("dgx1", DType::bf16), ConfigError);
  test::expect_contains(test::config_error([&] { alexnet_on("dgx1", DType::tf32); }),
                        "ask for f32");
}

}  // namespace
}  // namespace dlscale::model
