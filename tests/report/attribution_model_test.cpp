#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "model/calibrate/calibrate.hpp"
#include "report/comparison/attribution.hpp"
#include "tests/model/synthetic.hpp"

namespace dlscale::report {
namespace {

namespace synthetic = model::synthetic;

constexpr int batch = 8;

/// Fitted to synthetic results of which rows of a benchmark, and of a kernel if one is named, take
/// `factor` times as long.
model::Machine slowed(std::string_view benchmark, double factor, std::string_view layer = "") {
  std::vector<ResultFile> results = synthetic::results(synthetic::branched(), batch);
  for (ResultFile& file : results) {
    for (Measurement& row : file.measurements) {
      if (row.benchmark != benchmark) continue;
      if (!layer.empty() && row.axes.at("layer") != layer) continue;
      for (auto& [name, series] : row.series) {
        for (auto& rank : series.samples) {
          for (double& sample : rank) sample *= factor;
        }
        series = make_series(series.unit, series.samples);
      }
    }
  }
  return model::calibrate(synthetic::two_workers(), results);
}

Run two_ranks() {
  Run run;
  run.network = "branched";
  run.ranks = 2;
  run.ranks_per_node = 2;
  run.batch = batch;
  run.cores_per_rank = 8;
  return run;
}

PredictedChange change_to(const model::Machine& changed) {
  return predict_change(synthetic::branched(), slowed("none", 1), changed, two_ranks());
}

const PredictedCause& cause(const PredictedChange& change, std::string_view part) {
  for (const PredictedCause& one : change.causes) {
    if (one.part == part) return one;
  }
  throw std::logic_error("no such cause");
}

void expect_sum(const PredictedChange& change) {
  double sum = change.together;
  for (const PredictedCause& one : change.causes) sum += one.share;
  EXPECT_NEAR(sum, change.change, 1e-12);
}

TEST(PredictedChange, OfTheSameMachineIsNothing) {
  const PredictedChange change = change_to(slowed("none", 1));
  EXPECT_EQ(change.change, 0);
  for (const PredictedCause& one : change.causes) EXPECT_EQ(one.share, 0) << one.part;
}

TEST(PredictedChange, BlamesSlowerMessagesAlone) {
  const PredictedChange change = change_to(slowed("comm", 3));
  EXPECT_GT(change.change, 0.001);
  EXPECT_NEAR(cause(change, "messages").share, change.change, 1e-9);
  EXPECT_NEAR(cause(change, "kernels").share, 0, 1e-9);
  EXPECT_NEAR(change.together, 0, 1e-9);
  EXPECT_NE(cause(change, "messages").moved.find("+200.0 %"), std::string::npos)
      << cause(change, "messages").moved;
  expect_sum(change);
}

TEST(PredictedChange, NamesTheKernelThatMoved) {
  const PredictedChange change = change_to(slowed("conv", 2, "conv2a"));
  EXPECT_GT(change.change, 0.01);
  EXPECT_NEAR(cause(change, "kernels").share, change.change, 1e-9);
  EXPECT_NE(cause(change, "kernels").moved.find("+100.0 %"), std::string::npos)
      << cause(change, "kernels").moved;
  EXPECT_TRUE(cause(change, "messages").moved.empty() ||
              cause(change, "messages").moved.find("0.0 %") != std::string::npos);
  expect_sum(change);
}

TEST(PredictedChange, OfSeveralPartsAddsUp) {
  std::vector<ResultFile> results = synthetic::results(synthetic::branched(), batch);
  for (ResultFile& file : results) {
    for (Measurement& row : file.measurements) {
      for (auto& [name, series] : row.series) {
        for (double& sample : series.samples.front()) sample *= 1.5;
        series = make_series(series.unit, series.samples);
      }
    }
  }
  const PredictedChange change = change_to(model::calibrate(synthetic::two_workers(), results));
  EXPECT_NEAR(change.change, 0.5, 0.05);
  expect_sum(change);
}

}  // namespace
}  // namespace dlscale::report
