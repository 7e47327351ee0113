// Predictions of curves that others published, where the file of them is present.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/published/baselines/baselines.hpp"
#include "model/published/cases/case_file.hpp"
#include "model/published/curves/predict.hpp"

namespace dlscale::model {
namespace {

using cases::CaseFile;
using cases::CasePrediction;
using cases::CurveTask;

/// Absolute relative errors, and how many numbers lie in their intervals.
struct Errors {
  std::vector<double> absolute = {};
  std::size_t covered = 0;

  void add(double measured, const cases::PredictedValue& predicted) {
    absolute.push_back(std::abs(predicted.value / measured - 1));
    if (predicted.low.value() <= measured && measured <= predicted.high.value()) ++covered;
  }
  [[nodiscard]] double median() const {
    std::vector<double> sorted = absolute;
    std::ranges::sort(sorted);
    return sorted.at(sorted.size() / 2);
  }
  [[nodiscard]] double mean() const {
    double sum = 0;
    for (const double error : absolute) sum += error;
    return sum / static_cast<double>(absolute.size());
  }
  [[nodiscard]] double coverage() const {
    return static_cast<double>(covered) / static_cast<double>(absolute.size());
  }
};

using GroupOf = std::function<std::string(const cases::CurveCase&)>;

std::map<std::string, Errors> errors(const CaseFile& file,
                                     const std::vector<CasePrediction>& predictions,
                                     const GroupOf& group) {
  std::map<std::string, Errors> found;
  for (std::size_t i = 0; i < file.curves.size(); ++i) {
    const std::vector<double>& measured = file.outcomes.at(i).measured.value().values;
    for (std::size_t k = 0; k < measured.size(); ++k) {
      found[group(file.curves[i])].add(measured[k], predictions.at(i).values.at(k).value());
    }
  }
  return found;
}

class PublishedCurves : public testing::Test {
 protected:
  void SetUp() override {
    const auto path =
        std::filesystem::path(DLSCALE_SHARED_DATA) / "validation" / "open_allreduce.jsonl";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
    file_ = cases::read_cases(path);
    predictions_ = predict_curves(file_.curves);
  }

  CaseFile file_;
  std::vector<CasePrediction> predictions_;
};

std::string task_of(const cases::CurveCase& curve) {
  return curve.task == CurveTask::interpolate ? "interpolate" : "extrapolate";
}

TEST_F(PublishedCurves, AreWithinTheLimitsOfBothTasks) {
  auto by_task = errors(file_, predictions_, task_of);
  EXPECT_LE(by_task["interpolate"].median(), 0.08);
  EXPECT_LE(by_task["extrapolate"].median(), 0.15);
  for (const auto& [task, found] : by_task) {
    EXPECT_GE(found.coverage(), 0.85) << task;
    EXPECT_LE(found.coverage(), 0.95) << task;
  }
}

TEST_F(PublishedCurves, AreToldBetterThanByTheBaselines) {
  auto by_task = errors(file_, predictions_, task_of);
  const GroupOf set_of = [](const cases::CurveCase& curve) { return curve.set; };
  auto by_set = errors(file_, predictions_, set_of);
  for (const CurveBaseline& baseline : curve_baselines()) {
    const std::vector<CasePrediction> naive = predict(baseline, file_.curves);
    for (const auto& [task, found] : errors(file_, naive, task_of)) {
      EXPECT_LT(by_task[task].median(), found.median()) << baseline.name << " " << task;
      EXPECT_LT(by_task[task].mean(), found.mean()) << baseline.name << " " << task;
    }
    for (const auto& [set, found] : errors(file_, naive, set_of)) {
      EXPECT_LT(by_set[set].mean(), found.mean()) << baseline.name << " " << set;
    }
  }
}

}  // namespace
}  // namespace dlscale::model
