#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/cluster/cluster.hpp"
#include "core/cluster/device_file.hpp"
#include "core/collective/algorithm.hpp"
#include "core/config/config_path.hpp"
#include "core/network/network.hpp"
#include "model/roofline/sheet/step_times.hpp"
#include "model/sgd_iter/layer_times.hpp"
#include "model/sgd_iter/messages/collective_time.hpp"
#include "model/sgd_iter/messages/link_estimate.hpp"
#include "model/sgd_iter/messages/message_time.hpp"
#include "model/sgd_iter/predict.hpp"
#include "model/topology/datasheet_efficiency.hpp"
#include "model/topology/nccl.hpp"
#include "tests/core/support.hpp"
#include "tests/model/nominal_ring.hpp"
#include "tests/model/notes_of.hpp"
#include "tests/model/without_sheet.hpp"

/// Predictions from data sheets.
namespace dlscale::model {
namespace {

using collective::Collective;
using TrainingRun = dlscale::Run;  // gtest's fixtures have a Run() of their own

constexpr double f32 = 4;

TrainingRun p40_run(int images) {
  TrainingRun run;
  run.network = "alexnet";
  run.cluster = "p40x16";
  run.ranks_per_node = 4;
  run.batch = images;
  run.loader_threads = 6;
  return run;
}

TEST(NominalPrediction, IsTheSumOfRooflinesWithoutASheet) {
  const Network network = load_network("alexnet");
  const Machine machine = nominal_machine(without_sheet("p40x16"));
  const int ranks[] = {1, 2, 4, 8, 16};
  TrainingRun run = p40_run(256);
  run.loader_threads = 2;
  const auto predictions = predict(network, machine, run, ranks);
  ASSERT_EQ(predictions.size(), 5U);
  double forward = 0;
  for (const Step step : forward_steps(network)) {
    const Work what = work(network, step, 256, DType::f32);
    forward += std::max(what.flops.si() / 11.76e12, what.bytes.si() / 346e9) + 3.8e-6;
  }
  const Prediction& first = predictions.front();
  EXPECT_NEAR(first.time.forward.si(), forward, 1e-9 * forward);
  EXPECT_NEAR(first.time.load.si(), 256 * std::sqrt(0.3) * 2.8e-3, 1e-9);
  const double images = 256 * f32 * static_cast<double>(network.input().elements());
  EXPECT_NEAR(first.time.h2d.si(), 29e-6 + images / 15.75e9, 1e-9);
  run.normalisation = Normalisation::device;
  const Prediction bytes = predict(network, machine, run, ranks).front();
  EXPECT_NEAR(bytes.time.h2d.si(), 29e-6 + images / 4 / 15.75e9, 1e-9);
  EXPECT_EQ(bytes.notes, first.notes);
  EXPECT_EQ(first.bound, "input");
  for (const Prediction& p : predictions) {
    EXPECT_TRUE(mentions(p, NoteKind::data_sheets)) << all(p.notes);
    ASSERT_TRUE(p.closed_form);
    EXPECT_NEAR(p.closed_form->total.si(), p.time.total.si(), 1e-9 * p.time.total.si());
    EXPECT_LE(p.efficiency, 1 + 1e-9);
    EXPECT_NEAR(p.efficiency, p.speedup / p.run.ranks, 1e-12);
    EXPECT_NEAR(p.images_per_s, 256 * p.run.ranks / p.time.total.si(), 1e-9 * p.images_per_s);
    ASSERT_TRUE(p.low && p.high);
    EXPECT_LE(*p.low, p.time.total);
    EXPECT_GE(*p.high, p.time.total);
    ASSERT_TRUE(p.speedup_low && p.speedup_high);
    EXPECT_LE(*p.speedup_low, p.speedup);
    EXPECT_GE(*p.speedup_high, p.speedup);
    EXPECT_TRUE(mentions(p, "1.534 ms an image and core (interval: 0.3 to 1 times"))
        << all(p.notes);
  }
}

TEST(NominalPrediction, HasTheRangeThatPublishedTrainingsReachedOfFullPeak) {
  Machine machine = nominal_machine(without_sheet("p40x16"));
  machine.loaders.front().decode = {};
  const int ranks[] = {1};
  TrainingRun run = p40_run(32);
  run.input_copy = InputCopy::ahead;
  const Prediction p = predict(load_network("resnet50"), machine, run, ranks).front();
  const double compute = (p.time.forward + p.time.backward).si();
  const auto& [low, high] = computing_shares.range;
  const auto width = [&](double share) { return share * (compute + p.time.update.si()); };
  EXPECT_NEAR((p.time.total - *p.low).si(), width(1 - low), 0.05 * width(1 - low));
  EXPECT_NEAR((*p.high - p.time.total).si(), width(high - 1), 0.05 * width(high - 1));
  EXPECT_EQ(p.sources.forward, TimeSource::data_sheet);
  EXPECT_FALSE(p.sources.load) << "decoding is not known";
}

/// Each kernel as its data sheet says, the same error for all, and what is known of the software.
TEST(NominalPrediction, IsTheSumOfWhatKernelsReachWithASheet) {
  Cluster cluster = load_cluster("p40x16");
  cluster.device = nominal_device(load_device_sheet("p40"), cluster.device.launch);
  Machine machine = nominal_machine(cluster);
  machine.loaders.front().decode = {};
  const Network network = load_network("resnet50");
  TrainingRun run = p40_run(32);
  run.input_copy = InputCopy::ahead;
  const int ranks[] = {1};
  const Prediction p = predict(network, machine, run, ranks).front();
  sheet::StepTimes times(network, cluster.device, run, {}, sheet::nominal_constants());
  Seconds forward;
  for (const Step step : forward_steps(network)) forward += times.time(step);
  EXPECT_NEAR(p.time.forward.si(), forward.si(), 1e-9 * forward.si());
  const sheet::TimeRange range =
      sheet::kernel_range(times, {}, run.dtype, sheet::nominal_constants());
  const double compute = (p.time.forward + p.time.backward).si();
  const auto width = [&](double share) { return share * (compute + p.time.update.si()); };
  EXPECT_NEAR((p.time.total - *p.low).si(), width(1 - range.low), 0.05 * width(1 - range.low));
  EXPECT_NEAR((*p.high - p.time.total).si(), width(range.high - 1), 0.05 * width(range.high - 1));
  EXPECT_TRUE(mentions(p, NoteKind::sheet_kernels)) << all(p.notes);
  EXPECT_TRUE(mentions(p, NoteKind::software_unknown)) << all(p.notes);
  EXPECT_FALSE(mentions(p, NoteKind::data_sheets)) << all(p.notes);
  ComputeRow old;
  old.traits.stated = true;
  old.traits.elementwise = Elementwise::norm_act;
  old.traits.libraries = 2016;
  machine.software = {old};
  const Prediction known = predict(network, machine, run, ranks).front();
  EXPECT_FALSE(mentions(known, NoteKind::software_unknown)) << all(known.notes);
  EXPECT_FALSE(mentions(known, NoteKind::software_in_part)) << all(known.notes);
  EXPECT_NE(known.time.forward, p.time.forward);
  machine.software.front().traits.elementwise.reset();
  const Prediction in_part = predict(network, machine, run, ranks).front();
  EXPECT_TRUE(mentions(in_part, NoteKind::software_in_part)) << all(in_part.notes);
}

TrainingRun summit_run() {
  TrainingRun run;
  run.network = "resnet50";
  run.cluster = "summit";
  run.ranks_per_node = 6;
  run.batch = 32;
  run.schedule = Schedule::bucketed;
  run.loader_threads = 7;
  run.input_copy = InputCopy::ahead;
  run.normalisation = Normalisation::device;
  return run;
}

/// OSU trained 347,304 images a second on 1,536 GPUs of Summit
/// (docs/explanation/worked-examples.md), and no library does so by a ring, whose 3,070 start-ups
/// each message would wait for.
TEST(NominalPrediction, SaysWhatWasTrainedOnSummit) {
  Machine machine = nominal_machine(load_cluster("summit"));
  const int ranks[] = {1536};
  const Network network = load_network("resnet50");
  const double measured = 1536 * 32 / 347304.0;
  const Prediction p = predict(network, machine, summit_run(), ranks).front();
  const double computing = (p.time.forward + p.time.backward + p.time.update).si();
  EXPECT_NEAR(computing, 97.5e-3, 0.1 * 97.5e-3);  // one V100 with 32 pictures
  EXPECT_NEAR(p.time.total.si(), measured, 0.25 * measured);
  // And what is said of who asks for a ring.
  machine.all_reduce_override = "ring";
  const Prediction by_ring = predict(network, machine, summit_run(), ranks).front();
  EXPECT_GT(by_ring.time.total.si(), 2 * measured);
}

/// The quickest of the forms as they are written down, each for itself.
TEST(NominalPrediction, TakesTheQuickestAllReduceForEachMessageWhereNoneIsStated) {
  Machine machine = nominal_machine(load_cluster("v100x16_ib100"));
  machine.cluster.all_reduce = AllReduceRule::quickest;
  machine.fitted = true;  // but no messages were measured
  Notes notes;
  // 3.4 us and 150 GB/s within a node, 14 us and 100 Gb/s between nodes, of 4 ranks each.
  const double inside = 1 / 150e9;
  const double outside = 1 / 12.5e9;
  for (const int nodes : {2, 4, 32, 4608}) {
    const int p = 4 * nodes;
    const MessageTimes times(machine, {p, 4}, Schedule::wait_free, notes);
    for (double m = 4; m < 1e11; m *= 10) {
      const double ring = 2 * (p - 1) * (14e-6 + m / p * outside);
      const double two_levels =
          6 * (3.4e-6 + m / 4 * inside) + 2 * (nodes - 1) * (14e-6 + m / nodes * outside);
      const double trees = 6 * 3.4e-6 + 2 * std::ceil(std::log2(nodes)) * 14e-6 + 2 * m * outside;
      const double least = std::min({ring, two_levels, trees});
      const Estimate<Seconds> time = times.time(Bytes(m));
      EXPECT_NEAR(time.value.si(), least, 1e-9 * least) << m << " on " << p;
      EXPECT_LE(time.low, time.value);
      EXPECT_GE(time.high, time.value);
    }
  }
  const std::string said = all(notes.all());
  for (const char* one : {"here double binary trees of nodes", "here rings within nodes and across",
                          "here a ring over the slowest"}) {
    test::expect_contains(said, one);
  }
}

TEST(NominalPrediction, TakesARingOnOneNodeWhateverIsStated) {
  Machine machine = nominal_machine(load_cluster("p40x16"));
  machine.fitted = true;  // but no messages were measured
  Notes notes;
  const auto time = [&](double m) {
    return MessageTimes(machine, {4, 4}, Schedule::wait_free, notes).time(Bytes(m)).value.si();
  };
  const double ring = time(1e6);
  machine.cluster.all_reduce = AllReduceRule::quickest;
  EXPECT_DOUBLE_EQ(time(1e6), ring);
  EXPECT_EQ(notes.all().size(), 1U);
}

Cluster without_network(std::string_view name) {
  Cluster cluster = load_cluster(name);
  cluster.network.reset();
  cluster.intra_node.name = cluster.inter_node.name = "a link";
  return cluster;
}

TEST(DatasheetLinks, AreWidestWhereNothingTellsWhoCarriesThem) {
  Cluster unknown = without_network("p40x16");
  const BytesPerSecond fdr = unknown.inter_node.bandwidth;
  EXPECT_EQ(shares_within(unknown).efficiency, pcie_shares(15.75_GBps).efficiency);
  EXPECT_EQ(shares_between(unknown).efficiency, tcp_shares(fdr, 1).efficiency);
  EXPECT_LT(tcp_shares(fdr, 1).efficiency, rdma_shares(fdr, 1).efficiency);
  EXPECT_EQ(shares_between(unknown).startup, slowest_links.tcp_latency);
  EXPECT_EQ(untold_links(unknown, {16, 4}).size(), 2U);
  EXPECT_EQ(untold_links(unknown, {4, 4}).size(), 1U);
  EXPECT_EQ(untold_links(unknown, {4, 1}).size(), 1U);
  unknown.intra_node.bandwidth = BytesPerSecond(150e9);  // no PCI Express has that
  EXPECT_EQ(shares_within(unknown).efficiency, nvlink_shares().efficiency);
  EXPECT_TRUE(untold_links(unknown, {4, 4}).empty());
}

TEST(DatasheetLinks, AreOfTheKindThatTheirNamesSay) {
  Cluster named = without_network("p40x16");
  named.intra_node.name = "PCIe 3.0 x16";
  named.inter_node.name = "FDR InfiniBand 4x";
  EXPECT_TRUE(untold_links(named, {16, 4}).empty());
  EXPECT_EQ(shares_between(named).startup, slowest_links.rdma_latency);
  named.inter_node.name = "10 Gb/s Ethernet";
  EXPECT_EQ(shares_between(named).startup, slowest_links.tcp_latency);
  named.intra_node.name = "NVLink 1";
  EXPECT_EQ(shares_within(named).efficiency, nvlink_shares().efficiency);
}

TEST(DatasheetLinks, AreOfTheKindThatTheClusterNames) {
  const Cluster summit = load_cluster("summit");
  EXPECT_EQ(shares_between(summit).startup, slowest_links.rdma_latency);
  EXPECT_EQ(shares_within(summit).efficiency, nvlink_shares().efficiency);
  EXPECT_TRUE(untold_links(summit, {1536, 6}).empty());
  const Cluster ethernet = load_cluster("k80x16_10gbe");
  EXPECT_EQ(shares_between(ethernet).efficiency,
            tcp_shares(ethernet.inter_node.bandwidth, 1).efficiency);
  EXPECT_EQ(shares_between(ethernet).startup, slowest_links.tcp_latency);
}

/// Else the interval of a bundled one would be that of two kinds.
TEST(ConfiguredClusters, SayWhoCarriesMessagesBetweenNodes) {
  for (const std::string& name : config_names("clusters")) {
    const Cluster cluster = load_cluster(name);
    if (cluster.inter_node.bandwidth <= BytesPerSecond()) continue;
    ASSERT_TRUE(cluster.network) << name;
    EXPECT_FALSE(cluster.network->kind.empty()) << name;
  }
}

TEST(DatasheetLinks, AreNeverQuickerThanTheirLineRateAndWiderBesideFits) {
  Machine machine = nominal_machine(load_cluster("p40x16"));
  machine.cluster.devices_per_node = 1;
  const LinkSpec& stated = machine.cluster.inter_node;
  const LinkShares shares = rdma_shares(stated.bandwidth, 1);
  const DatasheetLinks ends = datasheet_links(machine);
  EXPECT_EQ(ends.quick.inter_node.bandwidth, stated.bandwidth);
  EXPECT_EQ(ends.quick.inter_node.latency, Seconds());
  EXPECT_NEAR(ends.slow.inter_node.bandwidth / stated.bandwidth, shares.efficiency, 1e-12);
  EXPECT_EQ(ends.slow.inter_node.latency, shares.startup);
  machine.fitted = true;
  const DatasheetLinks beside_fits = datasheet_links(machine);
  EXPECT_NEAR(stated.bandwidth / beside_fits.slow.inter_node.bandwidth - 1,
              1.960 / 1.645 * (1 / shares.efficiency - 1), 1e-12);
  EXPECT_EQ(beside_fits.quick.inter_node.bandwidth, stated.bandwidth);
}

/// Headers are part of what shares are of: they do not count twice.
TEST(DatasheetLinks, CountHeadersOnce) {
  Machine machine = nominal_machine(load_cluster("p3_16xlarge"));
  const BytesPerSecond line = machine.cluster.inter_node.bandwidth;
  const auto passed = [&](const Cluster& cluster) {
    return 1 / link_between_nodes(cluster, {2, 1}, 1).beta;
  };
  const double share = tcp_shares(line, 1).efficiency;
  machine.cluster.node.reset();
  machine.cluster.devices_per_node = 1;
  EXPECT_NEAR(passed(datasheet_links(machine).quick) / line, 1, 1e-12);
  EXPECT_NEAR(passed(datasheet_links(machine).slow) / line, share, 1e-12);
  machine.cluster.network->efficiency = 0.5 * share;  // less than trainings got of others
  EXPECT_NEAR(passed(datasheet_links(machine).slow) / line, 0.5 * share, 1e-12);
}

TEST(SheetEvidence, IsNamedWhereAPredictionLeavesIt) {
  const auto unlike = [](std::string_view cluster, DType dtype, int batch) {
    TrainingRun run;
    run.dtype = dtype;
    run.batch = batch;
    return beyond_evidence(load_cluster(cluster), run);
  };
  EXPECT_EQ(unlike("p40x16", DType::f32, 32), "");
  EXPECT_EQ(unlike("dgx1", DType::f16, 128), "");
  EXPECT_EQ(unlike("dgx1", DType::f16, 64), "");
  EXPECT_EQ(unlike("dgx_h100", DType::f16, 128), "") << "two sets have H100 in f16";
  test::expect_contains(unlike("dgx1", DType::f16, 32), "batches of 128 and more, not of 32");
  test::expect_contains(unlike("dgx_a100", DType::f32, 128), "TF32");
  test::expect_contains(unlike("dgx_h100", DType::tf32, 256), "TFLOP/s in tf32, this one 494.7");
  test::expect_contains(unlike("h200x8", DType::f16, 256), "GB/s, this one 4800");
  test::expect_contains(unlike("dgx_h100", DType::bf16, 256), "none is in bf16");
  Cluster processor = load_cluster("p40x16");
  processor.device.kind = DeviceKind::cpu;
  test::expect_contains(beyond_evidence(processor, p40_run(32)), "not of processors");
}

TEST(NominalPrediction, SaysWhereItsIntervalRestsOnOtherTrainings) {
  const int ranks[] = {1};
  const auto prediction = [&](DType dtype) {
    TrainingRun run = p40_run(256);
    run.dtype = dtype;
    return predict(load_network("resnet50"), nominal_machine(without_sheet("dgx_h100")), run, ranks)
        .front();
  };
  EXPECT_TRUE(mentions(prediction(DType::bf16), "rests on trainings of another kind"));
  EXPECT_FALSE(mentions(prediction(DType::f16), "rests on trainings of another kind"));
}

TEST(NominalPrediction, GivesLayersTheTimesOfDataSheets) {
  const Network network = load_network("alexnet");
  TrainingRun run = p40_run(32);
  run.ranks = 4;
  for (const LayerTime& layer :
       layer_times(network, nominal_machine(load_cluster("p40x16")), run).layers) {
    EXPECT_EQ(layer.forward_source.value_or(TimeSource::data_sheet), TimeSource::data_sheet);
    EXPECT_EQ(layer.forward_source.has_value(), layer.forward > Seconds());
    EXPECT_EQ(layer.communication_source.value_or(TimeSource::data_sheet), TimeSource::data_sheet);
    EXPECT_EQ(layer.communication_source.has_value(), layer.gradient > Bytes());
    EXPECT_EQ(layer.communication > Seconds(), layer.gradient > Bytes());
  }
}

TEST(NominalPrediction, SendsOverARingOfTheSlowestLink) {
  Machine machine = nominal_machine(load_cluster("p40x16"));
  machine.fitted = true;  // but no messages were measured
  Notes notes;
  // Within a node PCIe, 5.7 us and 15.75 GB/s; between nodes InfiniBand, 14 us and 54.54 Gb/s.
  const double m = 1e8;
  const auto time = [&](int ranks) {
    return MessageTimes(machine, {ranks, 4}, Schedule::wait_free, notes).time(Bytes(m)).value.si();
  };
  EXPECT_NEAR(time(4), 6 * 5.7e-6 + 1.5 * m / 15.75e9, 1e-9);
  EXPECT_NEAR(time(16), 30 * 14e-6 + 2 * 15.0 / 16 * m / (54.54e9 / 8), 1e-9);
}

TEST(NominalPrediction, AddsGradientsByTheRuleOfTheCluster) {
  Machine machine = nominal_machine(load_cluster("h200x8"));
  machine.fitted = true;  // but no messages were measured
  Notes notes;
  const auto time = [&](int ranks) {
    return MessageTimes(machine, {ranks, 8}, Schedule::wait_free, notes).time(1_MiB).value.si();
  };
  const NcclModel nccl(machine.cluster.nccl.value(), {64, 8});
  EXPECT_DOUBLE_EQ(time(64), nccl.choose(1_MiB).time.si());
  test::expect_contains(report::note_text(notes.all().front()), "NCCL's own cost model");
  machine.cluster.all_reduce = AllReduceRule::hierarchical;
  const double two_levels = hierarchical_all_reduce(machine.cluster, {64, 8}, 1_MiB).si();
  EXPECT_NEAR(time(64), two_levels, 1e-12 * two_levels);
  machine.cluster.all_reduce = AllReduceRule::ring;
  EXPECT_GT(time(64), 126 * machine.cluster.inter_node.latency.si());
}

/// Where NCCL's cost model says what an all-reduce takes, it says so of the other collectives, too.
TEST(NominalPrediction, TakesEveryCollectiveFromTheModelOfNccl) {
  Machine machine = nominal_machine(load_cluster("h200x8"));
  machine.fitted = true;  // but no messages were measured
  const Placement placement{16, 8};
  const auto seconds = [&](Collective collective, Notes& notes) {
    const MessageTimes all_reduce(machine, placement, Schedule::wait_free, notes);
    return CollectiveTimes(machine, placement, collective, Schedule::wait_free, all_reduce, notes)
        .time(1_MiB);
  };
  for (const Collective each : {Collective::reduce, Collective::broadcast,
                                Collective::reduce_scatter, Collective::all_gather}) {
    Notes notes;
    const Estimate<Seconds> time = seconds(each, notes);
    const NcclModel nccl(machine.cluster.nccl.value(), placement, each);
    EXPECT_DOUBLE_EQ(time.value.si(), nccl.choose(1_MiB).time.si());
    EXPECT_LT(time.low, time.value);
    EXPECT_GE(time.high, time.value);
    const std::string name(to_string(each));
    test::expect_contains(all(notes.all()), name + " by NCCL's own cost model, not measured: ring");
  }
  machine.cluster.all_reduce = AllReduceRule::hierarchical;
  Notes notes;
  static_cast<void>(seconds(Collective::all_gather, notes));
  EXPECT_TRUE(mentions(notes.all(), NoteKind::collective_half));
}

TEST(NominalPrediction, IsBoundByComputeOnceInputIsFast) {
  Machine machine = nominal_machine(load_cluster("p40x16"));
  machine.loaders.front().decode = Estimate<Seconds>::exact(Seconds(1e-6));
  const int ranks[] = {1, 16};
  const auto predictions = predict(load_network("resnet50"), machine, p40_run(32), ranks);
  EXPECT_EQ(predictions[0].bound, "compute");
  EXPECT_GT(predictions[1].speedup, 8);
  machine.cluster.inter_node.bandwidth = BytesPerSecond(1e7);
  EXPECT_EQ(predict(load_network("resnet50"), machine, p40_run(32), ranks)[1].bound,
            "communication");
}

TEST(NominalPrediction, RefusesAPrecisionTheDeviceLacks) {
  TrainingRun run = p40_run(32);
  run.dtype = DType::bf16;
  const int ranks[] = {1};
  const Machine machine = nominal_machine(load_cluster("p40x16"));
  EXPECT_THROW(predict(load_network("alexnet"), machine, run, ranks), ConfigError);
}

TEST(NominalPrediction, HoldsForEveryNetworkClusterAndSchedule) {
  const int ranks[] = {1, 16};
  for (const char* cluster : {"p40x16", "k80x16_10gbe", "v100x16_ib100", "h200x8"}) {
    const Machine machine = nominal_machine(load_cluster(cluster));
    for (const char* name : {"alexnet", "googlenet", "resnet50", "vgg16"}) {
      const Network network = load_network(name);
      for (const Schedule schedule :
           {Schedule::sequential, Schedule::wait_free, Schedule::bucketed}) {
        TrainingRun run = p40_run(32);
        run.schedule = schedule;
        run.input_copy = schedule == Schedule::bucketed ? InputCopy::on_path : InputCopy::ahead;
        for (const Prediction& p : predict(network, machine, run, ranks)) {
          ASSERT_TRUE(p.closed_form);
          EXPECT_NEAR(p.closed_form->total.si(), p.time.total.si(), 1e-9 * p.time.total.si());
          EXPECT_GT(p.images_per_s, 0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace dlscale::model
