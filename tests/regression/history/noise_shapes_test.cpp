#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "histories.hpp"
#include "regression/check/series_judge.hpp"
#include "tests/regression/gate/noise_models.hpp"

namespace dlscale::regression::history {
namespace {

/// A history without a lasting change of level, by its nights.
struct Shape {
  std::string name;
  std::size_t nights = 44;
  std::size_t most = 0;  ///< histories among 12 that may have an alert all the same
  std::function<double(std::size_t, Draws&)> value;
};

double noise(Draws& draws, double deviation) {
  return std::exp(deviation * draws.normal());
}

std::function<double(std::size_t, Draws&)> grows(std::size_t night, double before, double after) {
  return [=](std::size_t i, Draws& draws) { return noise(draws, i < night ? before : after); };
}

std::function<double(std::size_t, Draws&)> jumps(double share, double size, double deviation) {
  return [=](std::size_t, Draws& draws) {
    return (draws.uniform() < share ? 1 + size : 1) * noise(draws, deviation);
  };
}

/// The names of the open alerts that fail a check. Each shows a level beyond the margin.
std::set<std::string> asking(std::span<const CommitPoint> commits) {
  const Annotations none{std::span<const Annotation>()};
  const CheckRules rules;
  std::set<std::string> all;
  for (const Change& change : judge_series(samples::kernel(), commits, none, rules).changes) {
    const AlertMetric& metric = change.metric;
    if (metric.movement != Verdict::regressed || metric.ending != Ending::open) continue;
    EXPECT_GT(metric.ratio, 1 + rules.changes.margin) << commits.size();
    all.insert(change.commit);
  }
  return all;
}

std::vector<CommitPoint> draw(std::size_t nights,
                              const std::function<double(std::size_t, Draws&)>& value,
                              Draws& draws) {
  std::vector<CommitPoint> commits;
  for (std::size_t i = 0; i < nights; ++i) {
    const double now = value(i, draws);
    commits.push_back({.commit = samples::commit_name(static_cast<int>(i)),
                       .time = 86400 * static_cast<std::int64_t>(i),
                       .runs = {now},
                       .value = now,
                       .run = "run"});
  }
  return commits;
}

class NoiseShape : public testing::TestWithParam<Shape> {};

INSTANTIATE_TEST_SUITE_P(OneLevel, NoiseShape,
                         testing::Values(Shape{"GrowsTenfold", 44, 3, grows(25, 0.003, 0.03)},
                                         Shape{"GrowsFourfoldLate", 100, 4, grows(60, 0.005, 0.02)},
                                         Shape{"JumpsNowAndThen", 44, 2, jumps(0.3, 0.08, 0.003)},
                                         Shape{"JumpsMostNights", 44, 4, jumps(0.7, 0.08, 0.003)},
                                         Shape{"JumpsLittle", 60, 3, jumps(0.3, 0.04, 0.005)},
                                         Shape{"IsSteady", 44, 0, grows(0, 0.01, 0.01)}),
                         [](const auto& shape) { return shape.param.name; });

TEST_P(NoiseShape, RaisesHardlyAnAlertNightByNight) {
  const Shape& shape = GetParam();
  Draws draws(3);
  std::size_t alarmed = 0;
  for (int history = 0; history < 12; ++history) {
    const std::vector<CommitPoint> commits = draw(shape.nights, shape.value, draws);
    bool asks = false;
    for (std::size_t night = 10; night <= commits.size(); ++night) {
      asks = !asking(std::span(commits).first(night)).empty() || asks;
    }
    alarmed += asks ? 1 : 0;
  }
  EXPECT_LE(alarmed, shape.most);
}

/// Nights of a level that is up in [first, back) and from `again` on.
struct UpBackUp {
  std::size_t first = 0;
  std::size_t back = 0;
  std::size_t again = 0;
  double size = 0;
};

class EndedAlert : public testing::TestWithParam<UpBackUp> {};

INSTANTIATE_TEST_SUITE_P(Levels, EndedAlert,
                         testing::Values(UpBackUp{14, 20, 28, 0.08}, UpBackUp{20, 26, 29, 0.05},
                                         UpBackUp{30, 60, 66, 0.1}, UpBackUp{16, 20, 40, 0.2}));

TEST_P(EndedAlert, StaysEndedWhenTheLevelGoesUpAgain) {
  const UpBackUp& level = GetParam();
  const auto value = [level](std::size_t i, Draws& draws) {
    const bool up = (i >= level.first && i < level.back) || i >= level.again;
    return (up ? 1 + level.size : 1) * noise(draws, 0.005);
  };
  Draws draws(3);
  const std::vector<CommitPoint> commits = draw(level.again + 10, value, draws);
  const auto name = [](std::size_t i) { return samples::commit_name(static_cast<int>(i)); };
  using Names = std::set<std::string>;
  EXPECT_EQ(asking(std::span(commits).first(level.back)), Names{name(level.first)});
  for (std::size_t night = level.again + 3; night <= commits.size(); ++night) {
    EXPECT_EQ(asking(std::span(commits).first(night)), Names{name(level.again)}) << night;
  }
}

}  // namespace
}  // namespace dlscale::regression::history
