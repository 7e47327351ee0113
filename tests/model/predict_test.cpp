#include "model/sgd_iter/predict.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "core/base/error.hpp"
#include "core/base/remedy.hpp"
#include "core/network/relu_fusion.hpp"
#include "model/calibrate/calibrate.hpp"
#include "model/sgd_iter/layer_times.hpp"
#include "tests/core/support.hpp"
#include "tests/model/notes_of.hpp"
#include "tests/model/synthetic.hpp"

namespace dlscale::model {
namespace {

using namespace synthetic;

using TrainingRun = dlscale::Run;  // gtest's fixtures have a Run() of their own

constexpr int predict_batch = 8;
constexpr double predict_f32 = 4;

TrainingRun small_run(int ranks) {
  TrainingRun run;
  run.network = "branched";
  run.ranks = ranks;
  run.ranks_per_node = 2;
  run.batch = predict_batch;
  return run;
}

double steps_seconds(const Network& network, const std::vector<Step>& steps, int images) {
  double sum = 0;
  for (const Step step : steps) sum += kernel_seconds(work(network, step, images, DType::f32));
  return sum;
}

/// Fits have intervals of 95 %, predictions of 90 %: of a normal distribution, 1.960 and 1.645
/// standard deviations.
constexpr double of_95_to_90 = 1.645 / 1.960;

class TwoWorkers : public testing::Test {
 protected:
  Prediction one(const TrainingRun& run) const {
    const int ranks[] = {run.ranks};
    return predict(network_, machine_, run, ranks).front();
  }
  /// Multiplies the times measured beside another rank.
  template <class Factor>
  void slow_beside_another(const Factor& factor) {
    for (KernelTime& kernel : machine_.kernels) {
      if (kernel.ranks_on_node == 2) kernel.time = factor(kernel) * kernel.time;
    }
  }
  /// Two ranks whose loader and communication threads take nothing from compute.
  TrainingRun with_cores_to_spare() {
    machine_.cluster.host.cores = 16;
    TrainingRun run = small_run(2);
    run.cores_per_rank = 8;
    return run;
  }
  [[nodiscard]] double forward() const {
    return steps_seconds(network_, forward_steps(network_), predict_batch);
  }
  [[nodiscard]] double backward() const {
    return steps_seconds(network_, backward_steps(network_), predict_batch);
  }
  [[nodiscard]] double copy() const {
    return copy_seconds(predict_f32 * predict_batch * 3 * 16 * 16);
  }
  [[nodiscard]] double update() const {
    return update_seconds(predict_f32 * static_cast<double>(network_.parameter_count()));
  }
  [[nodiscard]] static double load() {
    return predict_batch * (read_seconds + decode_seconds + augment_seconds);
  }
  [[nodiscard]] double messages() const {
    double sum = 0;
    for (const Layer& layer : network_.layers()) {
      const auto bytes = predict_f32 * static_cast<double>(layer.parameter_count());
      if (bytes > 0) sum += all_reduce_seconds(bytes);
    }
    return sum;
  }
  std::string failure(const TrainingRun& run) const {
    try {
      one(run);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }

  Network network_ = branched();
  Machine machine_ = calibrate(two_workers(), results(network_, predict_batch));
};

TEST_F(TwoWorkers, AddsUpWhatWasMeasuredOnOneRank) {
  TrainingRun run = small_run(1);
  run.cores_per_rank = 2;
  const Prediction p = one(run);
  EXPECT_NEAR(p.time.forward.si(), forward(), 1e-9 * forward());
  EXPECT_NEAR(p.time.backward.si(), backward(), 1e-9 * backward());
  EXPECT_NEAR(p.time.h2d.si(), copy(), 1e-6 * copy());
  EXPECT_NEAR(p.time.update.si(), update(), 1e-6 * update());
  EXPECT_NEAR(p.time.load.si(), load(), 1e-9 * load());
  EXPECT_EQ(p.time.exposed_comm.si(), 0);
  EXPECT_NEAR(p.time.total.si(), std::max(load(), forward() + backward() + copy() + update()),
              1e-6 * p.time.total.si());
  EXPECT_TRUE(p.notes.empty()) << all(p.notes);
  EXPECT_EQ(p.speedup, 1);
}

TEST_F(TwoWorkers, EqualsItsClosedFormWhereCoresSuffice) {
  for (const Schedule schedule : {Schedule::sequential, Schedule::wait_free, Schedule::bucketed}) {
    TrainingRun run = small_run(2);
    run.schedule = schedule;
    machine_.cluster.host.cores = 6;
    run.cores_per_rank = 3;
    const Prediction p = one(run);
    ASSERT_TRUE(p.closed_form) << p.closed_form_absent;
    EXPECT_NEAR(p.closed_form->total.si(), p.time.total.si(), 1e-9 * p.time.total.si());
    EXPECT_NEAR(p.closed_form->exposed_comm.si(), p.time.exposed_comm.si(),
                1e-9 * p.time.total.si());
  }
}

TEST_F(TwoWorkers, HidesNothingWhereOneCoreDoesEverything) {
  const double everything = load() + copy() + forward() + backward() + messages() + update();
  for (const Schedule schedule : {Schedule::sequential, Schedule::wait_free}) {
    TrainingRun run = small_run(2);
    run.schedule = schedule;
    const Prediction p = one(run);
    EXPECT_NEAR(p.time.total.si(), everything, 1e-5 * everything);
    EXPECT_FALSE(p.closed_form);
    EXPECT_NE(p.closed_form_absent, "");
  }
}

TEST_F(TwoWorkers, PhasesAddUpToTheTotal) {
  for (const Schedule schedule : {Schedule::sequential, Schedule::wait_free, Schedule::bucketed}) {
    for (const int ranks : {1, 2, 4}) {
      TrainingRun run = small_run(ranks);
      run.schedule = schedule;
      const IterationTime t = one(run).time;
      const Seconds sum = t.io + t.h2d + t.forward + t.backward + t.exposed_comm + t.update;
      EXPECT_NEAR(sum.si(), t.total.si(), 1e-12 * t.total.si());
    }
  }
}

TEST_F(TwoWorkers, InterpolatesBetweenMeasuredBatches) {
  auto both = results(network_, 8);
  both.push_back(results(network_, 24)[0]);
  machine_ = calibrate(two_workers(), both);
  TrainingRun run = small_run(1);
  run.cores_per_rank = 2;
  run.batch = 12;
  const Prediction p = one(run);  // the true times are affine in the batch
  const double expected = steps_seconds(network_, forward_steps(network_), 12);
  EXPECT_NEAR(p.time.forward.si(), expected, 1e-9 * expected);
  EXPECT_TRUE(mentions(p, NoteKind::kernels_interpolated)) << all(p.notes);
}

TEST_F(TwoWorkers, ScalesByWorkOutsideMeasuredBatchesAndSaysSo) {
  TrainingRun run = small_run(1);
  run.cores_per_rank = 2;
  run.batch = 16;
  const Prediction p = one(run);
  EXPECT_NEAR(p.time.forward.si() / (2 * forward()), 1, 0.05);
  EXPECT_TRUE(mentions(p, "extrapolated by their work from batch 8")) << all(p.notes);
}

TEST_F(TwoWorkers, JudgesAKernelNeverMeasuredByItsKindAndSaysSo) {
  const std::string key = kernel_key(network_, LayerId(3));  // conv2a
  const auto is_it = [&](const KernelTime& kernel) {
    return kernel.kernel == key && kernel.pass == Pass::forward;
  };
  machine_.kernels.erase(std::remove_if(machine_.kernels.begin(), machine_.kernels.end(), is_it),
                         machine_.kernels.end());
  TrainingRun run = small_run(1);
  run.cores_per_rank = 2;
  const Prediction p = one(run);
  EXPECT_TRUE(mentions(p, "never measured: at the median efficiency of convolution forward"))
      << all(p.notes);
  EXPECT_NEAR(p.time.forward.si() / forward(), 1, 0.5);
}

TEST_F(TwoWorkers, AddsUpFusedKernelsForAFusedRun) {
  const Network fused = fuse_relu(network_);
  ASSERT_LT(fused.layers().size(), network_.layers().size());
  machine_ = calibrate(two_workers(), results(fused, predict_batch));
  TrainingRun run = small_run(1);
  run.cores_per_rank = 2;
  run.fuse_relu = true;
  const Prediction p = one(run);
  const double forward = steps_seconds(fused, forward_steps(fused), predict_batch);
  const double backward = steps_seconds(fused, backward_steps(fused), predict_batch);
  EXPECT_NEAR(p.time.forward.si(), forward, 1e-9 * forward);
  EXPECT_NEAR(p.time.backward.si(), backward, 1e-9 * backward);
  EXPECT_TRUE(p.notes.empty()) << all(p.notes);
  EXPECT_TRUE(p.run.fuse_relu);
  EXPECT_EQ(layer_times(network_, machine_, run).layers.size(), fused.layers().size());
}

TEST_F(TwoWorkers, SaysWhichFusedKernelsWereNotMeasured) {
  TrainingRun run = small_run(1);
  run.cores_per_rank = 2;
  EXPECT_TRUE(one(run).notes.empty());
  run.fuse_relu = true;
  const Prediction p = one(run);
  EXPECT_TRUE(mentions(p, NoteKind::fused_not_measured)) << all(p.notes);
  EXPECT_TRUE(mentions(p, "convolution c3 h16 w16 k8 r3 s3 stride1 pad1 groups1 bias relu"))
      << all(p.notes);
  const LayerTimes layers = layer_times(network_, machine_, run);
  EXPECT_EQ(layers.layers[1].forward_source, TimeSource::unfused);
  EXPECT_EQ(layers.layers[2].forward_source, TimeSource::measured);
}

TEST_F(TwoWorkers, TakesFusedLayersThatWereNotMeasuredByTheirParts) {
  TrainingRun run = small_run(1);
  run.cores_per_rank = 2;
  run.fuse_relu = true;
  const Prediction p = one(run);
  const Step relu{LayerId(2), Pass::forward};  // relu1
  const double saved = kernel_seconds(work(network_, relu, predict_batch, DType::f32));
  EXPECT_NEAR(p.time.forward.si(), forward() - saved, 1e-9 * forward());
  EXPECT_NEAR(p.time.backward.si(), backward(), 1e-9 * backward());
}

/// Every kind of layer that takes a ReLU in, and one that does not.
Network with_relus() {
  return Network("relus", {3, 8, 8},
                 {{"conv", Convolution{4, 3, 3, 1, 1, 1, true}, {"input"}},
                  {"conv_relu", Relu{}, {"conv"}},
                  {"norm", BatchNorm{}, {"conv_relu"}},
                  {"norm_relu", Relu{}, {"norm"}},
                  {"sum", Sum{}, {"norm_relu", "conv_relu"}},
                  {"sum_relu", Relu{}, {"sum"}},
                  {"fc", FullyConnected{10, true}, {"sum_relu"}},
                  {"fc_relu", Relu{}, {"fc"}},
                  {"fc2", FullyConnected{10, true}, {"fc_relu"}},
                  {"loss", SoftmaxCrossEntropy{}, {"fc2"}}});
}

TEST_F(TwoWorkers, NeverTakesLongerFusedThanNotWhereOnlyTheLatterWasMeasured) {
  network_ = with_relus();
  machine_ = calibrate(two_workers(), results(network_, predict_batch));
  machine_.cluster.host.cores = 16;
  for (const int ranks : {1, 2}) {
    TrainingRun run = small_run(ranks);
    run.cores_per_rank = 8;
    const Prediction apart = one(run);
    run.fuse_relu = true;
    const Prediction fused = one(run);
    EXPECT_LT(fused.time.forward, apart.time.forward) << ranks;
    EXPECT_NEAR(fused.time.backward / apart.time.backward, 1, 1e-9) << ranks;
    EXPECT_LE(fused.time.total, apart.time.total) << ranks;
  }
}

TEST_F(TwoWorkers, TakesKernelsFromTheNearestNumberOfRanksAndSaysSo) {
  auto& kernels = machine_.kernels;
  kernels.erase(std::remove_if(kernels.begin(), kernels.end(),
                               [](const KernelTime& kernel) { return kernel.ranks_on_node == 2; }),
                kernels.end());
  EXPECT_TRUE(mentions(one(small_run(2)), "beside 2 ranks on a node were not measured"));
}

TEST_F(TwoWorkers, ThatRunTheSameKernelsSlowEachOtherAsMeasured) {
  slow_beside_another([](const KernelTime&) { return 1.21; });
  const Prediction p = one(with_cores_to_spare());
  EXPECT_NEAR(p.time.forward.si() / forward(), 1.21, 1e-9);
  EXPECT_NEAR(p.time.backward.si() / backward(), 1.21, 1e-9);
}

TEST_F(TwoWorkers, SlowAStepByWhatTheOtherAsksOfSharedMemoryOnAverage) {
  slow_beside_another(
      [](const KernelTime& kernel) { return kernel.pass == Pass::forward ? 1.25 : 0.9; });
  const double mean = 0.5 * forward() / (forward() + backward());  // e = √0.25, and none backward
  const Prediction p = one(with_cores_to_spare());
  EXPECT_NEAR(p.time.forward.si() / forward(), 1 + 0.5 * mean, 1e-9);
  EXPECT_NEAR(p.time.backward.si() / backward(), 1, 1e-9);
}

TEST_F(TwoWorkers, MeasuredOnlyTogetherAreTakenAsMeasured) {
  slow_beside_another([](const KernelTime&) { return 2.0; });
  std::erase_if(machine_.kernels,
                [](const KernelTime& kernel) { return kernel.ranks_on_node == 1; });
  EXPECT_NEAR(one(with_cores_to_spare()).time.forward.si() / forward(), 2, 1e-9);
}

TEST_F(TwoWorkers, WidenTheirIntervalWithThatOfTheTimesTogether) {
  slow_beside_another([](const KernelTime&) { return 1.21; });
  for (KernelTime& kernel : machine_.kernels) {
    if (kernel.ranks_on_node == 1) continue;
    kernel.time.low = 0.95 * kernel.time.value;
    kernel.time.high = 1.05 * kernel.time.value;
  }
  const Prediction p = one(small_run(2));  // all on one core: whatever compute takes, shows
  const double compute = forward() + backward();
  const double width = of_95_to_90 * 1.21 * 0.05 * compute;
  EXPECT_NEAR((p.time.total - *p.low).si(), width, 0.002 * compute);
  EXPECT_NEAR((*p.high - p.time.total).si(), width, 0.002 * compute);
}

TEST_F(TwoWorkers, SaysHowItWentBeyondTheRanksMeasured) {
  const Prediction p = one(small_run(8));
  EXPECT_TRUE(mentions(p, "all-reduce extrapolated from 2 ranks")) << all(p.notes);
  EXPECT_TRUE(mentions(p, NoteKind::no_link_between_nodes)) << all(p.notes);
  EXPECT_TRUE(mentions(p, "more nodes than the 1 of cluster pair")) << all(p.notes);
}

TEST_F(TwoWorkers, NamesTheBenchmarkThatIsMissing) {
  const Machine complete = machine_;
  const auto expect_remedy = [&](int ranks, const std::string& benchmark, const auto& remove) {
    machine_ = complete;
    remove(machine_);
    try {
      one(small_run(ranks));
      ADD_FAILURE() << benchmark;
    } catch (const RemediableError& error) {
      EXPECT_EQ(error.remedies.front().subject, benchmark);
    }
  };
  expect_remedy(1, "memory", [](Machine& machine) { machine.h2d.clear(); });
  expect_remedy(1, "update", [](Machine& machine) { machine.update.clear(); });
  expect_remedy(1, "io", [](Machine& machine) { machine.loaders.clear(); });
  expect_remedy(1, "conv", [](Machine& machine) { machine.kernels.clear(); });
  expect_remedy(2, "comm", [](Machine& machine) { machine.collectives.clear(); });
  EXPECT_EQ(failure(small_run(1)), "");
  TrainingRun run = small_run(1);
  run.dtype = DType::bf16;
  test::expect_contains(failure(run), "bf16");
  machine_.update.clear();
  machine_.collectives.clear();
  test::expect_contains(failure(small_run(2)),
                        "lacks parameter updates, messages between ranks, so");
}

TEST_F(TwoWorkers, SaysWhatToDoWhereALinkIsNotKnown) {
  machine_.collectives.clear();
  const std::string within = failure(small_run(2));
  test::expect_contains(within, "between workers of one node");
  test::expect_contains(within, "ask for one rank");
  TrainingRun run = small_run(2);
  run.ranks_per_node = 1;
  const std::string between = failure(run);
  test::expect_contains(between, "between nodes");
  test::expect_contains(between, "state bandwidth and latency between nodes");
  test::expect_contains(between, "ask for one rank");
  machine_.cluster.inter_node.bandwidth = BytesPerSecond(1e9);
  EXPECT_EQ(failure(run), "");
}

TEST_F(TwoWorkers, RefusesImpossibleRuns) {
  EXPECT_THROW(one(small_run(0)), ConfigError);
  TrainingRun run = small_run(2);
  run.batch = -1;
  EXPECT_THROW(one(run), ConfigError);
}

TEST_F(TwoWorkers, WidensItsIntervalWithTheMachines) {
  TrainingRun run = small_run(2);
  const Prediction exact = one(run);
  EXPECT_NEAR(exact.low->si(), exact.high->si(), 1e-3 * exact.time.total.si());
  for (KernelTime& kernel : machine_.kernels) {
    kernel.time.low = 0.9 * kernel.time.value;
    kernel.time.high = 1.2 * kernel.time.value;
  }
  const Prediction wide = one(run);
  const double compute = forward() + backward();
  EXPECT_NEAR((wide.time.total - *wide.low).si(), of_95_to_90 * 0.1 * compute, 0.01 * compute);
  EXPECT_NEAR((*wide.high - wide.time.total).si(), of_95_to_90 * 0.2 * compute, 0.01 * compute);
}

TEST_F(TwoWorkers, ScalesAugmentingByPixels) {
  for (LoaderFit& loader : machine_.loaders) loader.height = loader.width = 32;
  const Prediction p = one(small_run(1));
  EXPECT_NEAR(p.time.load.si(),
              predict_batch * (read_seconds + decode_seconds + augment_seconds / 4), 1e-9);
  EXPECT_TRUE(mentions(p, "16 × 16"));
}

TEST_F(TwoWorkers, SharesTheStorageThatAllNodesRead) {
  machine_.cluster.storage.read_bandwidth = BytesPerSecond(1e6);
  machine_.cluster.storage.shared_by_nodes = true;
  const Prediction p = one(small_run(4));  // 4 ranks · 8 pictures · 110 kB / 1 MB/s
  EXPECT_NEAR(p.time.total.si(), 4 * 8 * 110e3 / 1e6, 1e-9);
  EXPECT_EQ(p.bound, "input");
}

TEST_F(TwoWorkers, GivesLayersTheirShares) {
  const LayerTimes times = layer_times(network_, machine_, small_run(2));
  ASSERT_EQ(times.layers.size(), network_.layers().size());
  Seconds f, b, c;
  for (const LayerTime& layer : times.layers) {
    f += layer.forward;
    b += layer.backward;
    c += layer.communication;
    const auto parameters = static_cast<double>(network_.layer(layer.layer).parameter_count());
    EXPECT_EQ(layer.gradient.si(), predict_f32 * parameters);
    EXPECT_EQ(layer.communication_source.has_value(), parameters > 0);
  }
  EXPECT_NEAR(f.si(), forward(), 1e-9 * forward());
  EXPECT_NEAR(b.si(), backward(), 1e-9 * backward());
  EXPECT_NEAR(c.si(), messages(), 1e-6 * messages());
  EXPECT_EQ(times.layers[0].forward.si(), 0);
  EXPECT_EQ(times.run.ranks, 2);
}

TEST_F(TwoWorkers, GivesBucketsOneMessageForAll) {
  TrainingRun run = small_run(2);
  run.schedule = Schedule::bucketed;
  double c = 0;
  for (const LayerTime& layer : layer_times(network_, machine_, run).layers) {
    c += layer.communication.si();
  }
  const double bytes =
      predict_f32 * static_cast<double>(network_.parameter_count());  // below 1 MiB
  EXPECT_NEAR(c, all_reduce_seconds(bytes), 1e-6 * c);
}

TEST_F(TwoWorkers, SayWhereTheTimesOfALayerComeFrom) {
  const auto source = [&](const TrainingRun& run) {
    return layer_times(network_, machine_, run).layers[3];  // conv2a
  };
  EXPECT_EQ(source(small_run(1)).forward_source, TimeSource::measured);
  EXPECT_EQ(source(small_run(1)).backward_source, TimeSource::measured);
  EXPECT_EQ(source(small_run(1)).communication_source, std::nullopt);
  EXPECT_EQ(source(small_run(2)).forward_source, TimeSource::measured);
  EXPECT_EQ(source(small_run(2)).communication_source, TimeSource::fitted);
  EXPECT_EQ(source(small_run(4)).communication_source, TimeSource::extrapolated);
  TrainingRun larger = small_run(1);
  larger.batch = 2 * predict_batch;
  EXPECT_EQ(source(larger).forward_source, TimeSource::extrapolated);
  EXPECT_EQ(layer_times(network_, machine_, small_run(1)).layers[0].forward_source, std::nullopt);
  const auto layers = layer_times(network_, machine_, larger);
  EXPECT_TRUE(mentions(layers.notes, NoteKind::kernels_extrapolated));
}

TEST_F(TwoWorkers, SayWhichLayerTimesLieBetweenMeasuredBatches) {
  auto both = results(network_, 8);
  both.push_back(results(network_, 24)[0]);
  machine_ = calibrate(two_workers(), both);
  TrainingRun run = small_run(1);
  run.batch = 12;
  EXPECT_EQ(layer_times(network_, machine_, run).layers[3].forward_source,
            TimeSource::interpolated);
}

TEST_F(TwoWorkers, TellTheLeastSureSourceOfALayerTime) {
  const std::string key = kernel_key(network_, LayerId(3));  // conv2a
  std::erase_if(machine_.kernels, [&](const KernelTime& kernel) {
    return kernel.kernel == key && kernel.pass == Pass::backward_filter;
  });
  const LayerTime layer = layer_times(network_, machine_, small_run(1)).layers[3];
  EXPECT_EQ(layer.forward_source, TimeSource::measured);
  EXPECT_EQ(layer.backward_source, TimeSource::efficiency);
  std::erase_if(machine_.kernels,
                [](const KernelTime& kernel) { return kernel.ranks_on_node == 2; });
  EXPECT_EQ(layer_times(network_, machine_, small_run(2)).layers[3].forward_source,
            TimeSource::other_ranks);
}

TEST(BoundBy, IsTheLongestUnlessInputIsWaitedFor) {
  IterationTime time;
  time.forward = Seconds(2);
  time.backward = Seconds(3);
  time.exposed_comm = Seconds(4);
  time.total = Seconds(10);
  EXPECT_EQ(bound_by(time, false), "compute");
  time.hidden_comm = Seconds(0.5);
  EXPECT_EQ(bound_by(time, false), "compute");
  time.hidden_comm = Seconds(1.5);  // messages are under way for longer than it computes
  EXPECT_EQ(bound_by(time, false), "communication");
  time.hidden_comm = Seconds();
  time.exposed_comm = Seconds(6);
  EXPECT_EQ(bound_by(time, false), "communication");
  time.io = Seconds(0.05);  // less than 1 %
  EXPECT_EQ(bound_by(time, false), "communication");
  time.io = Seconds(0.5);
  EXPECT_EQ(bound_by(time, false), "input");
  EXPECT_EQ(bound_by(time, true), "communication");  // compute may be why it waits
  time.load = Seconds(5.5);
  EXPECT_EQ(bound_by(time, true), "input");
}

}  // namespace
}  // namespace dlscale::model
