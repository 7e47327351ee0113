#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "bench/memory/device/device_cells.hpp"
#include "core/results/result_json.hpp"
#include "tests/bench/memory/fake_probes.hpp"
#include "tests/train/data/message.hpp"

/// The benchmark of a device's memory, launches and copies, on probes that are not real.
namespace dlscale::bench {
namespace {

using train::config_error;
using train::contains;

constexpr StoppingCriterion quick{.relative_half_width = 100,
                                  .min_samples = 4,
                                  .max_samples = 4,
                                  .max_time = Seconds(0),
                                  .min_warmup = Seconds(0),
                                  .min_warmups = 3};

DeviceSelection selection(std::vector<std::string> operations) {
  return {.operations = std::move(operations),
          .array_bytes = {4096, 1 << 20},
          .chase_bytes = {1 << 14, 1 << 22},
          .strides = {128},
          .paths = {backend::ChasePath::all_caches, backend::ChasePath::shared_l2},
          .bank_strides = {1, 32},
          .kernels = {1, 10},
          .copy_bytes = {64, 1 << 20},
          .memories = {backend::HostMemory::pageable, backend::HostMemory::pinned},
          .concurrent_works = {backend::ConcurrentWork::none, backend::ConcurrentWork::copy}};
}

class BenchDevice : public testing::Test {
 protected:
  [[nodiscard]] std::vector<Cell> cells(const DeviceSelection& wanted,
                                        ProbeFault fault = ProbeFault::none) const {
    auto probe_context = std::make_shared<ProbeContext>();
    probe_context->probes = make_fake_probes(fault);
    probe_context->witness.absent_because = "nobody watches";
    return device_cells(probe_context, "fake", wanted, *group_.front());
  }
  [[nodiscard]] std::vector<Cell> cells(const std::string& operation,
                                        ProbeFault fault = ProbeFault::none) const {
    return cells(selection({operation}), fault);
  }
  [[nodiscard]] Measurement measured(const Cell& cell) const {
    return cell.measure(Sampler(*group_.front(), quick));
  }

 private:
  std::vector<std::unique_ptr<backend::Communicator>> group_ = backend::local_group(1);
};

std::string axis(const Cell& cell, const std::string& name) {
  const auto found = cell.axes.find(name);
  return found == cell.axes.end() ? "" : found->second;
}

TEST_F(BenchDevice, HasACellForEveryCombinationThatConcernsAnOperation) {
  EXPECT_EQ(cells("triad").size(), 2U);
  EXPECT_EQ(cells("chase").size(), 2U * 2);
  EXPECT_EQ(cells("levels").size(), 2U);
  EXPECT_EQ(cells("bank_latency").size(), 2U);
  EXPECT_EQ(cells("launch_graph").size(), 2U);
  EXPECT_EQ(cells("h2d").size(), 2U * 2 * 2);
  EXPECT_EQ(cells("d2d").size(), 2U * 2);
}

TEST_F(BenchDevice, NamesWhatACellIs) {
  const std::map<std::string, std::string> expected{
      {"operation", "d2h"},        {"bytes", "1048576"},        {"backend", "fake"},
      {"host_memory", "pageable"}, {"concurrent_with", "copy"}, {"ranks", "1"},
      {"ranks_on_node", "1"}};
  const std::vector<Cell> found = cells("d2h");
  EXPECT_TRUE(std::any_of(found.begin(), found.end(),
                          [&](const Cell& cell) { return cell.axes == expected; }));
}

TEST_F(BenchDevice, KeepsTheTimesOfTheDeviceAndOfTheHostWithoutTheWarmUp) {
  const Measurement result = measured(cells("launch").front());
  EXPECT_EQ(result.status, Status::ok);
  EXPECT_EQ(result.max_relative_error, 0);
  EXPECT_EQ(result.implementation, "launches");
  const std::vector<double> times = result.at("time").samples.front();
  const std::vector<double> host = result.at("host_time").samples.front();
  ASSERT_EQ(times.size(), 4U);
  ASSERT_EQ(host.size(), 4U);
  for (std::size_t i = 0; i < times.size(); ++i) {  // three runs went before
    EXPECT_NEAR(times[i], 2e-6 + 1e-9 * static_cast<double>(i + 3), 1e-12);
    EXPECT_NEAR(host[i], 3e-6 + 1e-9 * static_cast<double>(i + 3), 1e-12);
  }
}

TEST_F(BenchDevice, KeepsTheCyclesOfEveryAccess) {
  const Measurement result = measured(cells("chase").front());
  const std::vector<double> once{30, 30, 31};
  std::vector<double> all;
  for (int run = 0; run < 4; ++run) all.insert(all.end(), once.begin(), once.end());
  EXPECT_EQ(result.at("cycles").unit, "cycles");
  EXPECT_EQ(result.at("cycles").samples.front(), all);
  EXPECT_EQ(result.at("empty_cycles").samples.front(), std::vector<double>(8, 10.0));
  EXPECT_FALSE(result.work);
}

TEST_F(BenchDevice, LeavesOutTheSeriesThatAProbeDoesNotRead) {
  const Measurement result = measured(cells("copy").front());
  EXPECT_EQ(result.series.size(), 1U);
  EXPECT_EQ(result.at("time").samples.front().size(), 4U);
}

TEST_F(BenchDevice, DeclaresTheBytesAndOperationsOfItsWork) {
  EXPECT_EQ(measured(cells("triad").front()).work->bytes.si(), 3 * 4096);
  EXPECT_EQ(measured(cells("triad").front()).work->flops.si(), 2 * 512);
  EXPECT_EQ(measured(cells("scale").front()).work->flops.si(), 512);
  EXPECT_EQ(measured(cells("copy").front()).work->bytes.si(), 2 * 4096);
  EXPECT_EQ(measured(cells("h2d").front()).work->bytes.si(), 64);
  EXPECT_EQ(measured(cells("d2d").front()).work->bytes.si(), 128);
}

TEST_F(BenchDevice, GivesNoTimeToWhatIsWrong) {
  for (const char* operation : {"copy", "chase", "levels", "bank_throughput", "launch", "h2d"}) {
    const Measurement result = measured(cells(operation, ProbeFault::wrong_elements).front());
    EXPECT_EQ(result.status, Status::wrong) << operation;
    EXPECT_TRUE(result.series.empty()) << operation;
    EXPECT_TRUE(contains(result.reason, "elements")) << result.reason;
  }
}

TEST_F(BenchDevice, RecordsWhatTheDeviceDoesNotOfferWithItsReason) {
  const Measurement graph = measured(cells("launch_graph", ProbeFault::no_graphs).front());
  EXPECT_EQ(graph.status, Status::unsupported);
  EXPECT_EQ(graph.reason, "this device has no graphs");
  for (const Cell& cell : cells("d2d")) {
    const bool refused = axis(cell, "concurrent_with") == "copy";
    EXPECT_EQ(measured(cell).status, refused ? Status::unsupported : Status::ok);
  }
}

TEST_F(BenchDevice, PassesOnTheFailureOfAProbe) {
  const Cell cell = cells("h2d", ProbeFault::broken).front();
  EXPECT_THROW(static_cast<void>(measured(cell)), LibraryError);
}

TEST_F(BenchDevice, SaysThatNobodyWatchedTheDevice) {
  const Measurement result = measured(cells("h2d").front());
  EXPECT_NE(std::find(result.warnings.begin(), result.warnings.end(), "nobody watches"),
            result.warnings.end());
  EXPECT_FALSE(result.series.contains("power"));
}

TEST_F(BenchDevice, FindsTheLevelsOfTheMemory) {
  for (const Cell& cell : cells("levels")) {
    const Measurement result = measured(cell);
    const auto& capacities = result.at("level_capacity").samples.front();
    const auto& latencies = result.at("level_latency").samples.front();
    if (axis(cell, "path") == "l2") {
      EXPECT_EQ(latencies, (std::vector<double>{200, 600}));
    } else {
      ASSERT_EQ(latencies, (std::vector<double>{30, 200, 600}));
      EXPECT_EQ(capacities[0], 262144);
    }
    EXPECT_EQ(capacities[capacities.size() - 2], 4194304);
    EXPECT_EQ(result.at("level_capacity_low").samples.front(), capacities);
    EXPECT_EQ(result.at("level_latency_low").samples.front(), latencies);
    EXPECT_GE(capacities.back(), 16 * 4194304);
    EXPECT_EQ(result.at("working_set").samples.front().size(),
              result.at("latency").samples.front().size());
  }
}

TEST_F(BenchDevice, MeasuresOnAllRanksAtOnce) {
  const auto group = backend::local_group(2);
  std::vector<Measurement> results(2);
  {
    std::vector<std::jthread> ranks;
    ranks.reserve(2);
    for (int rank = 0; rank < 2; ++rank) {
      ranks.emplace_back([&, rank] {
        auto probe_context = std::make_shared<ProbeContext>();
        probe_context->probes = make_fake_probes();
        probe_context->witness.absent_because = "nobody watches";
        const auto all = device_cells(probe_context, "fake", selection({"launch"}), *group[rank]);
        results[rank] = all.front().measure(Sampler(*group[rank], quick));
      });
    }
  }
  for (const Measurement& result : results) {
    EXPECT_EQ(result.at("time").samples.size(), 2U);
    EXPECT_EQ(result.at("host_time").samples.size(), 2U);
    EXPECT_EQ(result.at("host_time").samples.back().size(), 4U);
  }
}

TEST_F(BenchDevice, RefusesAnUnknownOperationAndWhatDoesNotFit) {
  const auto refusal = [this](const DeviceSelection& wanted) {
    return config_error([&] { static_cast<void>(cells(wanted)); });
  };
  EXPECT_TRUE(contains(refusal(selection({"h2h"})), "h2h"));
  DeviceSelection large = selection({"add"});
  large.array_bytes = {std::size_t{512} << 20};
  EXPECT_TRUE(contains(refusal(large), "--sizes"));
  large = selection({"h2d"});
  large.copy_bytes = {std::size_t{1} << 30};
  EXPECT_TRUE(contains(refusal(large), "--copy-sizes"));
  large = selection({"chase"});
  large.chase_bytes = {std::size_t{1} << 30};
  EXPECT_TRUE(contains(refusal(large), "--chase-sizes"));
}

TEST(DeviceNames, AreReadAsTheyAreWritten) {
  for (const char* name : {"all_caches", "l2"}) EXPECT_EQ(path_name(parse_path(name)), name);
  for (const char* name : {"pageable", "pinned", "registered"}) {
    EXPECT_EQ(memory_name(parse_memory(name)), name);
  }
  for (const char* name : {"none", "copy", "kernel"}) {
    EXPECT_EQ(concurrent_work_name(parse_concurrent_work(name)), name);
  }
  EXPECT_TRUE(contains(config_error([] { parse_concurrent_work("friends"); }), "copy"));
  EXPECT_TRUE(contains(config_error([] { parse_memory("paged"); }), "pageable"));
  EXPECT_TRUE(contains(config_error([] { parse_path("l3"); }), "all_caches"));
}

TEST(DeviceNames, OfVersion010AreReadAsThoseOfToday) {
  for (const auto& [before, now] : {std::pair("solo", "none"), std::pair("bidirectional", "copy"),
                                    std::pair("kernel", "kernel")}) {
    Measurement row;
    row.benchmark = "device";
    row.axes = {{"company", before}};
    const std::map<std::string, std::string> wanted{{"concurrent_with", now}};
    EXPECT_EQ(parse_measurement(measurement_line(row)).axes, wanted);
  }
}

/// The message with which the benchmark refuses the values of its axes.
template <class Refusal>
std::string refused(std::map<std::string, std::string> values) {
  const auto group = backend::local_group(1);
  const Benchmark* benchmark = family<Benchmark>().find("device");
  Context context = make_context(*benchmark, std::move(values), *group.front());
  try {
    static_cast<void>(benchmark->cells(context));
  } catch (const Refusal& error) {
    return error.what();
  }
  ADD_FAILURE() << "it was not refused";
  return {};
}

TEST(BenchDeviceAxes, RefuseABackendWithoutADevice) {
  const std::string reason = refused<Unsupported>({{"backend", "reference"}});
  EXPECT_TRUE(contains(reason, "reference computes in the memory of the host")) << reason;
  EXPECT_TRUE(contains(reason, "the benchmark memory")) << reason;
}

TEST(BenchDeviceAxes, RefuseOptionsWithoutEffectOnTheOperations) {
  const std::map<std::string, std::string> of{
      {"sizes", "launch"},       {"chase_sizes", "levels"}, {"strides", "copy"},
      {"paths", "bank_latency"}, {"bank_strides", "chase"}, {"kernels", "bank_throughput"},
      {"copy_sizes", "triad"},   {"host_memory", "d2d"},    {"concurrent_with", "launch_graph"}};
  const Benchmark* benchmark = family<Benchmark>().find("device");
  EXPECT_EQ(of.size() + 2, benchmark->axes.size()) << "all but operations and backend";
  for (const auto& [axis, operation] : of) {
    const std::string reason = refused<ConfigError>({{"operations", operation}, {axis, "1"}});
    EXPECT_TRUE(contains(reason, " has no effect on --operations " + operation)) << reason;
  }
}

TEST(BenchDeviceAxes, RefuseABackendThatThereIsNot) {
  EXPECT_TRUE(contains(refused<ConfigError>({{"backend", "abacus"}}), "abacus"));
}

}  // namespace
}  // namespace dlscale::bench
