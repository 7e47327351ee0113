// Published traces and tables, read where the folder with reference tables is present.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "model/sgd_iter/closed_form.hpp"
#include "model/sgd_iter/iteration.hpp"

namespace dlscale::model {
namespace {

/// GoogLeNet on a K80, batch 64, by layer. [shyhuai/B-Caffe]
struct Trace {
  std::vector<double> parameters;
  std::vector<Seconds> backward;  // both in order of execution: last layer first
};

Trace read_trace(const std::filesystem::path& path) {
  Trace trace;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string layer, parameters, backward_us;
    std::getline(fields, layer, ',');
    std::getline(fields, parameters, ',');
    std::getline(fields, backward_us, ',');
    trace.parameters.insert(trace.parameters.begin(), std::stod(parameters));
    trace.backward.insert(trace.backward.begin(), Seconds(std::stod(backward_us) * 1e-6));
  }
  return trace;
}

/// The authors' all-reduce on n nodes of `parameters` floats. [shyhuai/B-Caffe scripts/gmwfbp.py]
Seconds authors_all_reduce(int n, double parameters) {
  const double bandwidth = 9.0 * (1 << 30) / 8;
  const double bytes = 4 * parameters;
  return Seconds(2 * n * 45.25e-6 + 2.0 * (n - 1) / n * bytes * 1.2 / bandwidth +
                 1.0 * (n - 1) / n * bytes * 160 / 6.4e10);
}

/// Finish of backward and communication in ms, from MODEL 2.1's table.
struct Golden {
  const char* id;
  int nodes;
  double wait_free;
  double single_message;
};
constexpr Golden goldens[] = {{"C033", 2, 205.600, 325.575},  {"C034", 4, 205.824, 385.786},
                              {"C035", 8, 256.901, 416.163},  {"C036", 16, 318.245, 431.894},
                              {"C037", 32, 418.421, 440.846}, {"C038", 64, 607.516, 447.494}};

class GoogLeNetTrace : public testing::Test {
 protected:
  void SetUp() override {
    const std::filesystem::path path = std::filesystem::path(DLSCALE_SHARED_DATA) /
                                       "validation/sets/googlenet_k80_b64_bcaffe_trace.csv";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no reference tables at " << path;
    trace_ = read_trace(path);
    ASSERT_EQ(trace_.backward.size(), 64U);
    ASSERT_EQ(std::accumulate(trace_.parameters.begin(), trace_.parameters.end(), 0.0), 13379136);
  }
  [[nodiscard]] std::vector<Seconds> comm(int nodes) const {
    std::vector<Seconds> result;
    for (const double parameters : trace_.parameters) {
      result.push_back(authors_all_reduce(nodes, parameters));
    }
    return result;
  }
  Trace trace_;
};

TEST_F(GoogLeNetTrace, GivesTheGoldenFinishOfWaitFreeBackward) {
  for (const Golden& golden : goldens) {
    const auto messages = comm(golden.nodes);
    EXPECT_NEAR(wait_free_closed_form(trace_.backward, messages).finish.si() * 1e3,
                golden.wait_free, 1e-3)
        << golden.id;
    EXPECT_NEAR(wait_free_recurrence(trace_.backward, messages).finish.si() * 1e3, golden.wait_free,
                1e-3)
        << golden.id;
  }
}

TEST_F(GoogLeNetTrace, GivesTheSameFinishInTheTaskGraph) {
  for (const Golden& golden : goldens) {
    const auto messages = comm(golden.nodes);
    IterationPlan plan;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      plan.backward.push_back({trace_.backward[i], messages[i]});
    }
    const IterationTime time = simulate_iteration(plan);
    EXPECT_NEAR((time.backward + time.exposed_comm).si() * 1e3, golden.wait_free, 1e-3)
        << golden.id;
  }
}

TEST_F(GoogLeNetTrace, GivesTheGoldenFinishOfASingleMessage) {
  const Seconds backward =
      std::accumulate(trace_.backward.begin(), trace_.backward.end(), Seconds());
  for (const Golden& golden : goldens) {
    const Seconds message = authors_all_reduce(golden.nodes, 13379136);
    EXPECT_NEAR((backward + message).si() * 1e3, golden.single_message, 1e-3) << golden.id;
  }
}

}  // namespace
}  // namespace dlscale::model
