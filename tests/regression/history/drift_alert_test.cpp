#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "histories.hpp"
#include "regression/check/series_judge.hpp"

namespace dlscale::regression::history {
namespace {

constexpr std::int64_t day = 86400;

/// Commits c0000, c0001, … a day apart, with 1 % of noise; after `quiet` ones each is slower than
/// the one before.
std::vector<CommitPoint> drifting(std::size_t commits, double each, std::size_t quiet = 0) {
  std::mt19937 generator(7);
  std::normal_distribution<double> noise(0, 0.01);
  std::vector<CommitPoint> all;
  for (std::size_t i = 0; i < commits; ++i) {
    const std::size_t steps = i > quiet ? i - quiet : 0;
    const double value = std::exp(each * static_cast<double>(steps) + noise(generator));
    all.push_back({.commit = samples::commit_name(static_cast<int>(i)),
                   .time = day * static_cast<std::int64_t>(i),
                   .runs = {value},
                   .value = value,
                   .run = "run"});
  }
  return all;
}

TEST(DriftAlert, SaysFromWhereToWhere) {
  for (const double each : {0.01, -0.01, 0.02, -0.015}) {
    const Annotations none{std::span<const Annotation>()};
    const Judgement judged = judge_series(samples::kernel(), drifting(50, each), none, {});
    ASSERT_EQ(judged.changes.size(), 1U) << each;
    const AlertMetric& metric = judged.changes[0].metric;
    EXPECT_EQ(metric.movement, each > 0 ? Verdict::regressed : Verdict::improved) << each;
    EXPECT_EQ(metric.by, FoundBy::drift) << each;
    EXPECT_EQ(metric.drift_from, samples::commit_name(0)) << each;
    EXPECT_GT(metric.drift_to, samples::commit_name(35)) << each;
    EXPECT_NEAR(std::log(metric.ratio) / (50 * each), 0.9, 0.15) << each;
  }
}

TEST(DriftAlert, KeepsNoValuesOfTheStepThatItBeganAs) {
  const Annotations none{std::span<const Annotation>()};
  const std::vector<CommitPoint> commits = drifting(60, 0.02, 25);
  bool began_as_step = false;
  bool became_drift = false;
  for (std::size_t known = 10; known <= commits.size(); ++known) {
    const Judgement judged =
        judge_series(samples::kernel(), std::span(commits).first(known), none, {});
    for (const Change& change : judged.changes) {
      const AlertMetric& metric = change.metric;
      const bool is_drift = metric.by == FoundBy::drift;
      (is_drift ? became_drift : began_as_step) = true;
      EXPECT_EQ(metric.values_before.empty(), is_drift) << known;
      EXPECT_EQ(metric.values_after.empty(), is_drift) << known;
    }
  }
  EXPECT_TRUE(began_as_step && became_drift);
}

TEST(DriftAlert, GrowsUntilSomebodyAnnotatesItAndThenComesAnew) {
  const std::vector<CommitPoint> commits = drifting(60, 0.01);
  const SeriesKey key = samples::kernel();
  const Annotations none{std::span<const Annotation>()};
  const Judgement before = judge_series(key, std::span(commits).first(30), none, {});
  ASSERT_EQ(before.changes.size(), 1U);
  EXPECT_EQ(judge_series(key, commits, none, {}).changes.size(), 1U);
  const std::vector<Annotation> marks{
      {29 * day, before.changes[0].commit, AlertState::acknowledged, {key.id()}, "known"}};
  const Annotations known{marks};
  EXPECT_EQ(judge_series(key, std::span(commits).first(30), known, {}).changes.size(), 1U);
  const Judgement after = judge_series(key, commits, known, {});
  ASSERT_EQ(after.changes.size(), 2U);
  EXPECT_EQ(after.changes[0].commit, before.changes[0].commit);
  EXPECT_EQ(after.changes[0].metric.drift_to, before.changes[0].metric.drift_to);
  EXPECT_GT(after.changes[1].commit, samples::commit_name(29));
}

}  // namespace
}  // namespace dlscale::regression::history
