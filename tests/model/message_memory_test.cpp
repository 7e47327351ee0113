#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/results/usable_rows.hpp"
#include "model/calibrate/calibrate.hpp"
#include "model/calibrate/graph_launch.hpp"
#include "model/calibrate/left_out.hpp"
#include "model/calibrate/measured_on.hpp"
#include "tests/core/support.hpp"
#include "tests/model/synthetic.hpp"

namespace dlscale::model {
namespace {

// Messages between memories of the host and of devices, of which a machine takes one kind.

using namespace synthetic;

std::string refusal_of(const std::vector<ResultFile>& results) {
  return test::config_error([&] { calibrate(two_workers(), results); });
}

class MessageMemories : public testing::Test {
 protected:
  std::vector<ResultFile> results_ = results(branched(), 8);
  Machine machine_ = calibrate(two_workers(), results_);
};

/// The same measured on a GPU, to which the host gives work.
std::vector<ResultFile> of_a_gpu(std::vector<ResultFile> results) {
  for (ResultFile& file : results) {
    for (Measurement& m : file.measurements) {
      if (m.axes.contains("backend")) {
        m.axes["backend"] = "cuda";
        m.series["give"] = make_series("s", {std::vector<double>(9, 3e-6)});
      }
    }
  }
  return results;
}

/// All-reduces of another library that lie in memory of a device and take twice as long.
ResultFile of_device_memory(const std::vector<ResultFile>& results) {
  ResultFile device = results[1];
  device.path = "device.jsonl";
  std::erase_if(device.measurements, [](const Measurement& m) { return m.benchmark != "comm"; });
  for (Measurement& m : device.measurements) {
    m.axes["memory"] = "device";
    m.axes["library"] = "NCCL 2.28.9";
    for (auto& rank : m.series.at("time").samples) {
      for (double& time : rank) time *= 2;
    }
    m.series["time"] = make_series("s", m.series.at("time").samples);
  }
  return device;
}

TEST_F(MessageMemories, AreThoseInWhichGradientsLie) {
  auto results = results_;
  results.push_back(of_device_memory(results_));
  const Machine processor = calibrate(two_workers(), results);
  EXPECT_EQ(processor.measured_on.libraries.at("communicator"), "MPI");
  ASSERT_EQ(processor.collectives.size(), machine_.collectives.size());
  EXPECT_EQ(processor.collectives[0].memory, "host");
  EXPECT_EQ(processor.collectives[0].time(1_MiB).si(), machine_.collectives[0].time(1_MiB).si());

  const Machine gpu = calibrate(two_workers(), of_a_gpu(results));
  EXPECT_EQ(gpu.measured_on.libraries.at("communicator"), "NCCL 2.28.9");
  ASSERT_EQ(gpu.collectives.size(), machine_.collectives.size());
  EXPECT_EQ(gpu.collectives[0].memory, "device");
  EXPECT_EQ(gpu.collectives[0].source, "device.jsonl");
  EXPECT_NEAR(gpu.collectives[0].time(1_MiB) / machine_.collectives[0].time(1_MiB), 2, 1e-6);
  const Machine read = machine_from_json(machine_json(gpu), "m.json");
  EXPECT_EQ(read.collectives[0].memory, "device");
  EXPECT_EQ(machine_json(read), machine_json(gpu));
}

TEST_F(MessageMemories, ThatTookTheWayThroughTheHostAreOfTheLibraryThatTrains) {
  auto results = results_;
  results.push_back(of_device_memory(results_));
  for (Measurement& m : results.back().measurements) {
    m.axes["library"] = "Open MPI 4.1.4" + std::string(staged_by_host);
  }
  const Machine gpu = calibrate(two_workers(), of_a_gpu(results));
  EXPECT_EQ(gpu.measured_on.libraries.at("communicator"), "Open MPI 4.1.4");
  // Not to be mixed with the same library that takes memory of GPUs itself.
  results.push_back(of_device_memory(results_));
  for (Measurement& m : results.back().measurements) m.axes["library"] = "Open MPI 4.1.4";
  test::expect_contains(refusal_of(of_a_gpu(results)), "of several libraries");
}

TEST_F(MessageMemories, OtherThanThoseOfGradientsAreNoPartOfAMachine) {
  const std::vector<ResultFile> of_host = of_a_gpu(results_);
  const Machine gpu = calibrate(two_workers(), of_host);
  EXPECT_TRUE(gpu.collectives.empty());
  EXPECT_EQ(gpu.kernels.size(), machine_.kernels.size());
  const auto left = left_out(of_host, gpu, {});
  EXPECT_TRUE(std::ranges::any_of(left, [](const LeftOutRows& one) {
    return one.why.find("gradients lie in the device's") != std::string::npos;
  }));
  auto results = results_;
  const ResultFile device = of_device_memory(results_);
  std::erase_if(results[1].measurements,
                [](const Measurement& m) { return m.benchmark == "comm"; });
  results.push_back(device);
  EXPECT_TRUE(calibrate(two_workers(), results).collectives.empty());
  EXPECT_FALSE(calibrate(two_workers(), of_a_gpu(results)).collectives.empty());
}

/// Messages of blocks of the host's memory that took `factor` times as long.
ResultFile of_blocks(const std::vector<ResultFile>& results, const char* in_place, double factor) {
  ResultFile blocks = results[1];
  std::erase_if(blocks.measurements, [](const Measurement& m) { return m.benchmark != "comm"; });
  for (Measurement& m : blocks.measurements) {
    m.axes["collective"] = "reduce_scatter";
    m.axes["in_place"] = in_place;
    auto samples = m.series.at("time").samples;
    for (auto& rank : samples) {
      for (double& time : rank) time *= factor;
    }
    m.series["time"] = make_series("s", samples);
  }
  return blocks;
}

TEST_F(MessageMemories, InBlocksAreTakenInPlaceWhereNoneWereMeasuredOutOfPlace) {
  const auto scatter = [](const Machine& machine) {
    return std::ranges::find(machine.collectives, "reduce_scatter", &CollectiveFit::collective);
  };
  const auto leaves_out = [](const std::vector<ResultFile>& results, const Machine& machine) {
    return std::ranges::any_of(left_out(results, machine, {}), [](const LeftOutRows& one) {
      return one.why.find("in_place yes (training has no)") != std::string::npos;
    });
  };
  auto results = results_;
  results.push_back(of_blocks(results_, "yes", 3));
  const Machine earlier = calibrate(two_workers(), results);
  ASSERT_NE(scatter(earlier), earlier.collectives.end());
  EXPECT_FALSE(leaves_out(results, earlier));
  results.push_back(of_blocks(results_, "no", 1));
  const Machine now = calibrate(two_workers(), results);
  ASSERT_NE(scatter(now), now.collectives.end());
  EXPECT_NEAR(scatter(earlier)->time(1_MiB) / scatter(now)->time(1_MiB), 3, 1e-6);
  EXPECT_TRUE(leaves_out(results, now));
}

TEST_F(MessageMemories, OfDevicesAreTakenOutOfPlaceWhereTheyAreInBlocks) {
  ResultFile device = of_device_memory(results_);
  for (Measurement& m : device.measurements) {
    m.axes["collective"] = "reduce_scatter";
    m.axes["in_place"] = "no";
  }
  const Machine apart = calibrate(two_workers(), std::vector{device});
  ASSERT_FALSE(apart.collectives.empty());
  EXPECT_EQ(apart.collectives[0].collective, "reduce_scatter");
  for (Measurement& m : device.measurements) m.axes["in_place"] = "yes";
  const std::vector in_place{device};
  const Machine none = calibrate(two_workers(), in_place);
  EXPECT_TRUE(none.collectives.empty());
  EXPECT_TRUE(std::ranges::any_of(left_out(in_place, none, {}), [](const LeftOutRows& one) {
    return one.why.find("in_place yes (training has no)") != std::string::npos;
  }));
  for (Measurement& m : device.measurements) m.axes["collective"] = "all_reduce";
  EXPECT_FALSE(calibrate(two_workers(), std::vector{device}).collectives.empty());
}

TEST_F(MessageMemories, AreNotToldByBenchmarksThatTimeNothingGiven) {
  auto results = of_a_gpu(results_);
  results.push_back(of_device_memory(results_));
  for (ResultFile& file : results) {
    for (Measurement& m : file.measurements) {
      if (m.benchmark == "conv" || m.benchmark == "update") m.benchmark = "device";
    }
    std::erase_if(file.measurements, [](const Measurement& m) {
      return m.benchmark == "comm" && !m.axes.contains("memory");
    });
  }
  EXPECT_EQ(message_memory(results, "cuda"), MessageMemory::device);
}

TEST_F(MessageMemories, AreWhatMessagesSayWhereNothingWasComputed) {
  const ResultFile device = of_device_memory(results_);
  EXPECT_EQ(calibrate(two_workers(), std::vector{device}).collectives.at(0).memory, "device");
  ResultFile host = results_[1];
  std::erase_if(host.measurements, [](const Measurement& m) { return m.benchmark != "comm"; });
  EXPECT_EQ(calibrate(two_workers(), std::vector{host}).collectives.at(0).memory, "host");
  test::expect_contains(refusal_of({host, device}), "nothing tells where its gradients lie");
}

// What giving a graph takes, from the rows of bench device.

/// Rows of graphs of empty kernels, in which each kernel has its share, and others of launches.
ResultFile graphs_of(const std::vector<int>& kernels, const std::string& backend) {
  ResultFile file;
  file.path = "graphs.jsonl";
  file.header.benchmark = "device";
  for (const int n : kernels) {
    Measurement row;
    row.benchmark = "device";
    row.axes = {{"operation", "launch_graph"},
                {"backend", backend},
                {"kernels", std::to_string(n)},
                {"ranks", "1"},
                {"ranks_on_node", "1"}};
    const auto share = [n](double start, double each) {
      return make_series("s", {std::vector<double>(9, (start + each * n) / n)});
    };
    row.series = {{"host_time", share(4e-6, 2e-7)}, {"time", share(3e-6, 1.2e-6)}};
    file.measurements.push_back(row);
    row.axes["operation"] = "launch";
    row.series = {{"host_time", share(1, 1)}, {"time", share(1, 1)}};
    file.measurements.push_back(row);
  }
  return file;
}

class GraphLaunches : public testing::Test {
 protected:
  [[nodiscard]] Machine machine(const std::vector<int>& kernels, const std::string& backend) const {
    auto all = results_;
    all.push_back(graphs_of(kernels, backend));
    all.back().header.environment = all.front().header.environment;
    return calibrate(two_workers(), all);
  }
  std::vector<ResultFile> results_ = results(branched(), 8);
  Machine without_ = calibrate(two_workers(), results_);
  std::string backend_ = without_.measured_on.backend;
};

TEST_F(GraphLaunches, AreAStartAndAPartOfEachKernel) {
  const Machine fitted = machine({1, 10, 100, 500}, backend_);
  ASSERT_TRUE(fitted.graph_launch);
  const GraphLaunch& graph = *fitted.graph_launch;
  EXPECT_NEAR(graph.host_start.value.si(), 4e-6, 1e-11);
  EXPECT_NEAR(graph.host_per_kernel.value.si(), 2e-7, 1e-12);
  EXPECT_NEAR(graph.device_start.value.si(), 3e-6, 1e-11);
  EXPECT_NEAR(graph.give(50).value.si(), 4e-6 + 50 * 2e-7, 1e-10);
  EXPECT_EQ(graph.source, "graphs.jsonl");
  EXPECT_EQ(std::ranges::count(fitted.sources, "graphs.jsonl"), 1);
}

TEST_F(GraphLaunches, AreKeptInTheFileOfAMachine) {
  const Machine fitted = machine({1, 10, 100, 500}, backend_);
  const Machine read = machine_from_json(machine_json(fitted), "m.json");
  EXPECT_EQ(machine_json(read), machine_json(fitted));
  EXPECT_EQ(read.graph_launch.value().give(50).high, fitted.graph_launch.value().give(50).high);
}

/// And the machine is what it is without such rows.
TEST_F(GraphLaunches, AreNotKnownOfOneNumberOfKernelsOrAnotherBackend) {
  EXPECT_FALSE(without_.graph_launch);
  EXPECT_EQ(machine_json(without_).find("graph_launch"), std::string::npos);
  for (const Machine& one : {machine({10}, backend_), machine({1, 10, 100}, "other")}) {
    EXPECT_FALSE(one.graph_launch);
    EXPECT_EQ(machine_json(one), machine_json(without_));
  }
}

}  // namespace
}  // namespace dlscale::model
