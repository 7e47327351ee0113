#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "bench/conv/layer_cells.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/workbench/finding.hpp"
#include "core/base/error.hpp"
#include "core/network/relu_fusion.hpp"
#include "tests/bench/conv/fake_device.hpp"
#include "tests/bench/engine/quick.hpp"
#include "tests/core/support.hpp"

namespace dlscale::bench {
namespace {

/// Small, with a fan-out (so that gradients are accumulated) and all passes.
std::shared_ptr<const Network> tiny() {
  const Convolution conv{.out_channels = 4, .kernel_h = 3, .kernel_w = 3, .pad = 1};
  return std::make_shared<const Network>(
      "tiny", ImageShape{3, 6, 6},
      std::vector<Network::Node>{{"conv1", conv, {"input"}},
                                 {"relu1", Relu{}, {"conv1"}},
                                 {"conv2", conv, {"relu1"}},
                                 {"sum", Sum{}, {"relu1", "conv2"}},
                                 {"fc", FullyConnected{.outputs = 5}, {"sum"}},
                                 {"loss", SoftmaxCrossEntropy{}, {"fc"}}});
}

std::shared_ptr<Workbench> workbench(Fault fault) {
  return std::make_shared<Workbench>(make_fake_device(fault), open_device("reference", 1), 1);
}

LayerSelection everything() {
  return {.batches = {2},
          .dtypes = {DType::f32},
          .passes = parse_passes({"all"}),
          .layers = {"all"},
          .caches = {CacheState::hot}};
}

/// By "layer pass".
using Results = std::map<std::string, Measurement>;

Results measure(Fault fault, const LayerSelection& selection, backend::Communicator& communicator) {
  const std::vector networks{tiny()};
  const Sampler sampler(communicator, quick);
  Results results;
  for (const Cell& cell : layer_cells(workbench(fault), networks, selection, communicator)) {
    results[cell.axes.at("layer") + " " + cell.axes.at("pass")] = cell.measure(sampler);
  }
  return results;
}

Results measure(Fault fault, const LayerSelection& selection) {
  const auto group = backend::local_group(1);
  return measure(fault, selection, *group.front());
}

std::vector<std::string> keys(const Results& results) {
  std::vector<std::string> keys;
  for (const auto& [key, measurement] : results) keys.push_back(key);
  return keys;
}

TEST(BenchConv, ComparesTheAlgorithmsThatADeviceKnows) {
  LayerSelection selection = everything();
  selection.algorithms = Algorithms::all;
  const auto group = backend::local_group(1);
  const std::vector networks{tiny()};
  const Sampler sampler(*group.front(), quick);
  std::map<std::string, std::map<std::string, Measurement>> results;  // by kernel, algorithm
  for (const Cell& cell :
       layer_cells(workbench(Fault::none), networks, selection, *group.front())) {
    results[cell.axes.at("layer") + " " + cell.axes.at("pass")][cell.axes.at("algorithm")] =
        cell.measure(sampler);
  }
  std::vector<std::string> kernels;
  int finite = 0;
  for (const auto& [kernel, by] : results) {
    kernels.push_back(kernel);
    ASSERT_EQ(by.size(), 5U) << kernel;
    EXPECT_EQ(by.at("chosen").status, Status::ok) << by.at("chosen").reason;
    EXPECT_EQ(by.at("good").status, Status::ok) << by.at("good").reason;
    EXPECT_EQ(by.at("off").status, Status::wrong) << kernel;
    EXPECT_EQ(by.at("gone").status, Status::unsupported) << kernel;
    EXPECT_EQ(by.at("gone").reason, "no longer here");
    EXPECT_EQ(by.at("fails").status, Status::unsupported) << kernel;
    EXPECT_EQ(by.at("fails").reason, "it was created, but failed when it ran: the fake is broken");
    EXPECT_GT(by.at("gone").work->flops.si(), 0.0);
    for (const char* measured : {"chosen", "good"}) {
      const Measurement& row = by.at(measured);
      EXPECT_TRUE(row.workspace) << kernel;
      ASSERT_TRUE(row.mean_relative_error && row.max_relative_error) << kernel;
      EXPECT_LE(*row.mean_relative_error, *row.max_relative_error);
      EXPECT_FALSE(row.algorithmic_work) << "of an algorithm that nobody knows";
    }
    ASSERT_TRUE(by.at("good").creation);
    EXPECT_GE(by.at("good").creation->si(), 0);
    EXPECT_FALSE(by.at("chosen").creation) << "created with its network";
    const Measurement& off = by.at("off");
    if (!off.max_relative_error || !off.mean_relative_error) continue;  // not finite
    EXPECT_GT(*off.max_relative_error, *off.mean_relative_error);
    ++finite;
  }
  EXPECT_GE(finite, 1);
  EXPECT_EQ(kernels,
            (std::vector<std::string>{"conv1 backward_filter", "conv1 forward",
                                      "conv2 backward_data", "conv2 backward_filter",
                                      "conv2 forward", "relu1 backward_data", "relu1 forward"}));
}

TEST(BenchConv, GoesOnAfterAnAlgorithmThatFailsUnchecked) {
  LayerSelection selection = everything();
  selection.algorithms = Algorithms::all;
  selection.check = Check::none;
  selection.layers = {"conv2"};
  const auto group = backend::local_group(1);
  const std::vector networks{tiny()};
  const Sampler sampler(*group.front(), quick);
  std::map<std::string, int> timed;
  for (const Cell& cell :
       layer_cells(workbench(Fault::none), networks, selection, *group.front())) {
    timed[cell.axes.at("algorithm")] += cell.measure(sampler).series.empty() ? 0 : 1;
  }
  EXPECT_EQ(timed, (std::map<std::string, int>{
                       {"chosen", 3}, {"good", 3}, {"off", 3}, {"fails", 0}, {"gone", 0}}));
}

TEST(BenchConv, CountsTheWorkspaceAmongWhatTheMemoryMustHold) {
  LayerSelection selection = everything();
  selection.passes = {Pass::forward};
  const auto results = measure(Fault::vast, selection);
  EXPECT_FALSE(results.empty());
  for (const auto& [kernel, measurement] : results) {
    EXPECT_EQ(measurement.status, Status::unsupported) << kernel;
    EXPECT_NE(measurement.reason.find("of the host's memory are free"), std::string::npos)
        << measurement.reason;
  }
}

TEST(BenchConv, CountsWhatTheCheckHoldsAmongWhatTheMemoryMustHold) {
  const std::optional<Bytes> free = free_memory();
  if (!free) GTEST_SKIP() << "the system does not say how much memory is free";
  // Tensors and their gradients take three quarters of it, copies of them as much again.
  const auto network = tiny();
  const Step step{network->layers()[1].id, Pass::forward};
  const double image = 2 * work(*network, step, 1000, DType::f32).bytes.si() / 1000;
  LayerSelection selection = everything();
  selection.layers = {network->layers()[1].name};
  selection.passes = {Pass::forward};
  selection.batches = {static_cast<int>(0.75 * free->si() / image)};
  const auto results = measure(Fault::none, selection);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results.begin()->second.status, Status::unsupported);
}

TEST(BenchConv, ComparesTheAlgorithmsOfConvolutionsFirst) {
  LayerSelection selection = everything();
  selection.algorithms = Algorithms::all;
  const auto group = backend::local_group(1);
  const std::vector networks{tiny()};
  const auto cells = layer_cells(workbench(Fault::none), networks, selection, *group.front());
  const auto is_relu = [](const Cell& cell) { return cell.axes.at("layer") == "relu1"; };
  const auto first = std::ranges::find_if(cells, is_relu);
  EXPECT_NE(first, cells.begin());
  EXPECT_EQ(std::count_if(first, cells.end(), is_relu), cells.end() - first);
}

TEST(BenchConv, SaysOfEveryKernelThatItsNetworkCannotRun) {
  LayerSelection selection = everything();
  selection.algorithms = Algorithms::all;
  selection.passes = {Pass::forward};
  for (const auto& [kernel, measurement] : measure(Fault::unsupported, selection)) {
    EXPECT_EQ(measurement.status, Status::unsupported) << kernel;
    EXPECT_NE(measurement.reason.find("no ReLU today"), std::string::npos) << measurement.reason;
  }
}

TEST(BenchConv, RefusesToCompareAlgorithmsWhereNoneHasAny) {
  LayerSelection selection = everything();
  selection.algorithms = Algorithms::all;
  selection.layers = {"sum"};
  test::expect_contains(test::config_error([&] { measure(Fault::none, selection); }),
                        "nothing to compare");
}

TEST(BenchConv, MeasuresEveryDistinctStepOfAnIteration) {
  const Results results = measure(Fault::none, everything());
  EXPECT_EQ(keys(results),
            (std::vector<std::string>{
                "conv1 backward_filter", "conv1 forward", "conv2 backward_data",
                "conv2 backward_filter", "conv2 forward", "fc backward_data", "fc backward_filter",
                "fc forward", "loss backward_data", "loss forward", "relu1 accumulate",
                "relu1 backward_data", "relu1 forward", "sum forward"}));
  for (const auto& [key, measurement] : results) {
    EXPECT_EQ(measurement.status, Status::ok) << key << ": " << measurement.reason;
    EXPECT_EQ(measurement.at("time").samples.front().size(), 2U) << key;
    EXPECT_GT(measurement.at("time").summary.min, 0.0) << key;
    ASSERT_TRUE(measurement.max_relative_error) << key;
    EXPECT_LE(*measurement.max_relative_error, 1e-5) << key;
    EXPECT_TRUE(measurement.implementation.starts_with("fake")) << key;
  }
}

TEST(BenchConv, DeclaresTheWorkOfTheStep) {
  const Results results = measure(Fault::none, everything());
  // conv2: 2 images of 4 x 6 x 6 outputs, each of 4 x 3 x 3 multiply-adds
  EXPECT_EQ(results.at("conv2 forward").work->flops, Flops(2 * 2 * 4 * 36 * 4 * 9));
  // two gradients of 2 x 4 x 6 x 6 read, their sum written
  EXPECT_EQ(results.at("relu1 accumulate").work->bytes, Bytes(3 * 4 * 2 * 4 * 36));
}

struct Caught {
  Fault fault;
  std::string key;
};

class BenchConvWrong : public testing::TestWithParam<Caught> {};

TEST_P(BenchConvWrong, AnswerIsCaughtAndHasNoTime) {
  const auto& [fault, key] = GetParam();
  const Measurement wrong = measure(fault, everything()).at(key);
  EXPECT_EQ(wrong.status, Status::wrong);
  EXPECT_TRUE(wrong.series.empty());
  EXPECT_NE(wrong.reason.find("differs from the reference"), std::string::npos) << wrong.reason;
}

INSTANTIATE_TEST_SUITE_P(Faults, BenchConvWrong,
                         testing::Values(Caught{Fault::output, "conv1 forward"},
                                         Caught{Fault::output, "loss forward"},
                                         Caught{Fault::gradient, "conv2 backward_data"},
                                         Caught{Fault::filter, "fc backward_filter"},
                                         Caught{Fault::accumulate, "relu1 accumulate"}));

TEST(BenchConv, LeavesOutAnErrorThatIsInfinite) {
  const Measurement wrong = measure(Fault::gradient, everything()).at("conv2 backward_data");
  EXPECT_FALSE(wrong.max_relative_error) << "a result file holds no infinity";
}

TEST(BenchConv, CallsWhatIsNoNumberWrong) {
  for (const auto& [key, row] : measure(Fault::nan, everything())) {
    EXPECT_EQ(row.status, Status::wrong) << key;
    EXPECT_TRUE(row.series.empty()) << key;
    EXPECT_FALSE(row.max_relative_error) << key;
    EXPECT_NE(row.reason.find("differs from the reference"), std::string::npos) << row.reason;
  }
}

TEST(BenchConv, RecordsThatAnAnswerWasNotChecked) {
  LayerSelection unchecked = everything();
  unchecked.check = Check::none;
  const Measurement measurement = measure(Fault::output, unchecked).at("conv1 forward");
  EXPECT_EQ(measurement.status, Status::ok) << "nobody looked";
  EXPECT_FALSE(measurement.max_relative_error);
  EXPECT_TRUE(std::ranges::any_of(measurement.warnings, [](const std::string& warning) {
    return warning.find("not checked") != std::string::npos;
  }));
}

TEST(BenchConv, SaysWhichLayerADeviceCannotRun) {
  for (const auto& [key, measurement] : measure(Fault::unsupported, everything())) {
    EXPECT_EQ(measurement.status, Status::unsupported) << key;
    EXPECT_NE(measurement.reason.find("relu1"), std::string::npos) << measurement.reason;
    EXPECT_NE(measurement.reason.find("no ReLU today"), std::string::npos) << measurement.reason;
  }
}

TEST(BenchConv, StopsAllRanksAtTheWrongAnswerOfOne) {
  auto group = backend::local_group(3);
  std::vector<Results> results(group.size());
  std::vector<std::thread> ranks;
  for (std::size_t i = 0; i < group.size(); ++i) {
    ranks.emplace_back([&, i] {
      results[i] = measure(i == 2 ? Fault::output : Fault::none, everything(), *group[i]);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  for (const Results& of_rank : results) {
    EXPECT_EQ(of_rank.at("conv1 forward").status, Status::wrong);
    EXPECT_EQ(of_rank.at("fc backward_filter").status, Status::ok);
    EXPECT_EQ(of_rank.at("fc backward_filter").at("time").samples.size(), 3U);
  }
}

/// What two ranks throw when the device of rank 1 is broken.
std::vector<std::string> thrown_by_ranks(const LayerSelection& selection) {
  auto group = backend::local_group(2);
  std::vector<std::string> thrown(group.size());
  std::vector<std::jthread> ranks;
  for (std::size_t i = 0; i < group.size(); ++i) {
    ranks.emplace_back([&, i] {
      try {
        measure(i == 1 ? Fault::broken : Fault::none, selection, *group[i]);
      } catch (const Error& error) {
        thrown[i] = error.what();
      }
    });
  }
  ranks.clear();
  return thrown;
}

TEST(BenchConv, StopsAllRanksAtTheBrokenDeviceOfOneInTheCheck) {
  EXPECT_EQ(thrown_by_ranks(everything()),
            (std::vector<std::string>{"on rank 1: the fake is broken", "the fake is broken"}));
}

/// With others it would leave them to the watchdog (core/base/error.hpp), which ends
/// processes.
TEST(BenchConv, StopsAtABrokenDeviceInPreparationAndInSamples) {
  LayerSelection in_preparation = everything();
  in_preparation.check = Check::none;
  in_preparation.passes = {Pass::backward_data};  // runs forward first
  LayerSelection in_samples = in_preparation;
  in_samples.passes = {Pass::forward};
  const auto alone = backend::local_group(1);
  for (const LayerSelection& selection : {in_preparation, in_samples}) {
    EXPECT_THROW(measure(Fault::broken, selection, *alone.front()), Error);
  }
}

bool warns_of_private_caches(int threads, CacheState cache) {
  LayerSelection selection = everything();
  selection.layers = {"conv1"};
  selection.passes = {Pass::forward};
  selection.caches = {cache};
  const auto group = backend::local_group(1);
  const auto bench = std::make_shared<Workbench>(make_fake_device(Fault::none),
                                                 open_device("reference", 1), threads);
  const std::vector networks{tiny()};
  const auto cells = layer_cells(bench, networks, selection, *group.front());
  const Measurement measurement = cells.front().measure(Sampler(*group.front(), quick));
  return std::ranges::any_of(measurement.warnings, [](const std::string& warning) {
    return warning.find("private caches") != std::string::npos;
  });
}

TEST(BenchConv, WarnsThatSeveralThreadsKeepPrivateCachesWarm) {
  EXPECT_TRUE(warns_of_private_caches(2, CacheState::cold));
  EXPECT_TRUE(warns_of_private_caches(2, CacheState::producer));
  EXPECT_FALSE(warns_of_private_caches(2, CacheState::hot));
  EXPECT_FALSE(warns_of_private_caches(1, CacheState::cold));
}

TEST(BenchConv, NamesTheConditionsInTheAxes) {
  LayerSelection selection = everything();
  selection.caches = {CacheState::cold, CacheState::producer};
  selection.layers = {"conv2"};
  selection.passes = {Pass::backward_data};
  const auto group = backend::local_group(1);
  const std::vector networks{tiny()};
  const auto cells = layer_cells(workbench(Fault::none), networks, selection, *group.front());
  ASSERT_EQ(cells.size(), 2U);
  const std::map<std::string, std::string> expected{
      {"network", "tiny"}, {"layer", "conv2"},        {"kernel", kernel_key(*tiny(), LayerId(3))},
      {"batch", "2"},      {"pass", "backward_data"}, {"dtype", "f32"},
      {"backend", "fake"}, {"threads", "1"},          {"ranks", "1"},
      {"cache", "cold"},   {"ranks_on_node", "1"},    {"values", "normal"}};
  EXPECT_EQ(cells[0].axes, expected);
  EXPECT_EQ(cells[1].axes.at("cache"), "producer");
  const Sampler sampler(*group.front(), quick);
  for (const Cell& cell : cells) EXPECT_EQ(cell.measure(sampler).status, Status::ok);
}

std::vector<std::pair<Axes, Measurement>> measure_layouts(LayerSelection selection) {
  selection.layouts = {std::nullopt, backend::LayoutKind::nchw, backend::LayoutKind::nhwc};
  const auto group = backend::local_group(1);
  const std::vector networks{tiny()};
  const Sampler sampler(*group.front(), quick);
  std::vector<std::pair<Axes, Measurement>> rows;
  for (const Cell& cell :
       layer_cells(workbench(Fault::none), networks, selection, *group.front())) {
    rows.emplace_back(cell.axes, cell.measure(sampler));
  }
  return rows;
}

TEST(BenchConv, MeasuresALayoutOrSaysWhyNot) {
  const auto rows = measure_layouts(everything());
  EXPECT_EQ(rows.size(), 3 * 14U);
  for (const auto& [axes, row] : rows) {
    const bool refused = axes.contains("layout") && axes.at("layout") == "nhwc";
    EXPECT_EQ(row.status, refused ? Status::unsupported : Status::ok) << row.reason;
    if (refused) {
      EXPECT_EQ(row.reason, "fake keeps activations in nchw only, not in nhwc");
    }
  }
}

TEST(BenchConv, ComparesAlgorithmsInALayout) {
  LayerSelection selection = everything();
  selection.algorithms = Algorithms::all;
  selection.layers = {"conv2"};
  selection.passes = {Pass::forward};
  std::map<std::string, std::vector<std::string>> algorithms;
  for (const auto& [axes, row] : measure_layouts(selection)) {
    const std::string layout = axes.contains("layout") ? axes.at("layout") : "none";
    algorithms[layout].push_back(axes.at("algorithm") + " " + std::string(status_name(row.status)));
  }
  const std::vector<std::string> all{"chosen ok", "good ok", "off wrong", "fails unsupported",
                                     "gone unsupported"};
  EXPECT_EQ(algorithms["none"], all);
  EXPECT_EQ(algorithms["nchw"], all);
  EXPECT_EQ(algorithms["nhwc"], (std::vector<std::string>{"chosen unsupported"}));
}

TEST(BenchConv, TellsTheLayoutsThatAConvolutionHas) {
  const Measurement row = measure(Fault::none, everything()).at("conv2 forward");
  EXPECT_TRUE(row.implementation.ends_with("; input nchw, filters nchw, output nchw"))
      << row.implementation;
}

TEST(BenchConv, MeasuresOnceWhatSeveralNetworksRun) {
  const auto group = backend::local_group(1);
  const std::vector networks{tiny(), tiny()};
  const auto twice = layer_cells(workbench(Fault::none), networks, everything(), *group.front());
  EXPECT_EQ(twice.size(), measure(Fault::none, everything()).size());
}

TEST(BenchConv, KeepsNetworksOfOneNameApart) {
  const auto larger = std::make_shared<const Network>(
      "tiny", ImageShape{3, 6, 6},
      std::vector<Network::Node>{{"fc", FullyConnected{.outputs = 7}, {"input"}},
                                 {"loss", SoftmaxCrossEntropy{}, {"fc"}}});
  const auto bench = workbench(Fault::none);
  EXPECT_EQ(bench->plan(*tiny(), 2, DType::f32).outputs.size(), 7U);
  EXPECT_EQ(bench->plan(*larger, 2, DType::f32).outputs.size(), 3U);
  EXPECT_EQ(&bench->plan(*tiny(), 2, DType::f32), &bench->plan(*tiny(), 2, DType::f32));
}

TEST(BenchConv, RotatesAmongSetsOfOperandsLargerThanTheCaches) {
  const std::vector networks{std::make_shared<const Network>(
      "wide", ImageShape{8, 64, 64},
      std::vector<Network::Node>{{"fc", FullyConnected{.outputs = 3}, {"input"}},
                                 {"loss", SoftmaxCrossEntropy{}, {"fc"}}})};
  LayerSelection selection = everything();
  selection.caches = {CacheState::rotating, CacheState::hot};
  selection.layers = {"fc"};
  const auto group = backend::local_group(1);
  for (const Cell& cell :
       layer_cells(workbench(Fault::none), networks, selection, *group.front())) {
    const Measurement row = cell.measure(Sampler(*group.front(), quick));
    EXPECT_EQ(row.status, Status::ok) << row.reason;
    EXPECT_EQ(row.at("time").samples.front().size(), 2U);
    const bool rotating = cell.axes.at("cache") == "rotating";
    ASSERT_EQ(row.series.contains("operand_sets"), rotating);
    if (!rotating) continue;
    EXPECT_EQ(row.at("operand_sets").unit, "1");
    EXPECT_GE(row.at("operand_sets").summary.median * row.work->bytes.si(), (64_MiB).si());
  }
}

TEST(BenchConv, ChecksAnAnswerWhateverTheValuesItTimes) {
  LayerSelection selection = everything();
  selection.values = {ValueKind::zeros};
  EXPECT_EQ(measure(Fault::output, selection).at("conv1 forward").status, Status::wrong);
  for (const auto& [key, row] : measure(Fault::none, selection)) {
    EXPECT_EQ(row.status, Status::ok) << key << ": " << row.reason;
  }
}

TEST(BenchConv, MeasuresFusedLayersThatAgreeWithTheReference) {
  const auto group = backend::local_group(1);
  const std::vector networks{std::make_shared<const Network>(fuse_relu(*tiny()))};
  for (const Fault fault : {Fault::none, Fault::filter}) {
    for (const Cell& cell : layer_cells(workbench(fault), networks, everything(), *group.front())) {
      const Measurement measurement = cell.measure(Sampler(*group.front(), quick));
      const bool wrong = fault == Fault::filter && cell.axes.at("pass") == "backward_filter";
      EXPECT_EQ(measurement.status, wrong ? Status::wrong : Status::ok)
          << cell.axes.at("kernel") << " " << cell.axes.at("pass") << ": " << measurement.reason;
    }
  }
}

}  // namespace
}  // namespace dlscale::bench
