// What giving a graph takes, from the rows of bench device.
#include "model/calibrate/graph_launch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/calibrate/calibrate.hpp"
#include "tests/model/synthetic.hpp"

namespace dlscale::model {
namespace {

using namespace synthetic;

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
