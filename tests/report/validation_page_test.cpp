#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "report/figure/figures.hpp"
#include "report/sections/report.hpp"
#include "report/validation/validate.hpp"
#include "report/validation/validation_table.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

using samples::e2e;
using samples::PhaseTimes;

/// Trainings on one rank of so many networks, each under two schedules, off by a few percent.
std::vector<Measurement> trainings(int networks) {
  std::vector<Measurement> rows;
  for (int i = 0; i < networks; ++i) {
    PhaseTimes times;
    times.backward += 0.01 * (1 + i);
    for (const Schedule schedule : {Schedule::sequential, Schedule::wait_free}) {
      rows.push_back(e2e({"network" + std::to_string(i), 1, schedule, 0}, times));
    }
  }
  return rows;
}

Validation validated(const std::vector<ResultFile>& files) {
  return validate([](const Run& run) { return samples::prediction(run, PhaseTimes{}); }, files);
}

Page page_of(Validation validation, const Limits& limits) {
  ReportInput input = samples::report_input();
  input.validation = std::move(validation);
  input.limits = limits;
  return report_page(input);
}

TEST(ValidationPage, IsNotGreenWhereAMeasurementCouldNotBeJudged) {
  std::vector<Measurement> rows = trainings(6);
  const Validation good = validated({samples::file("e2e", rows)});
  EXPECT_EQ(page_of(good, {.one_rank = 0.2}).tone, Tone::good);
  rows.push_back(e2e({"vgg16", 1, Schedule::wait_free, 0}, PhaseTimes{}));
  rows.back().status = Status::interrupted;
  const Validation lost = validated({samples::file("e2e", rows)});
  const Limits limits{.one_rank = 0.2};
  EXPECT_EQ(exit_code(lost, limits), ExitCode::inconclusive);
  EXPECT_EQ(page_of(lost, limits).tone, Tone::caution);
  EXPECT_TRUE(contains(page_of(lost, limits).verdict, " 1 measurement could not be judged"));
  EXPECT_EQ(page_of(lost, {.one_rank = 1e-4}).tone, Tone::bad);
}

TEST(ValidationPage, FollowsALimitOfOrders) {
  const Limits limits{.one_rank = 0.2, .order = 0.9};
  const Page page = page_of(validated({samples::file("e2e", trainings(6))}), limits);
  EXPECT_EQ(page.tone, Tone::caution);
  EXPECT_TRUE(contains(page.verdict, " No order of schedules could be judged")) << page.verdict;
}

TEST(Validate, TakesAWorkloadUnderSeveralSchedulesForOneValue) {
  const Validation three = validated({samples::file("e2e", trainings(3))});
  EXPECT_EQ(three.runs.size(), 6U);
  EXPECT_EQ(three.summaries.front().workloads, 3);
  EXPECT_FALSE(three.summaries.front().median_abs_low.has_value());
  EXPECT_FALSE(is_certain(three, {}));
  EXPECT_TRUE(contains(errors_sentence(three, {}),
                       "Noise may decide on 1 rank: 3 workloads (network and batch) are too few "
                       "for an interval, which takes 6."))
      << errors_sentence(three, {});
  const Page page = page_of(three, {});
  EXPECT_TRUE(page.tiles.front().detail.starts_with("3 workloads: too few for an interval; limit"))
      << page.tiles.front().detail;
  const Page six = page_of(validated({samples::file("e2e", trainings(6))}), {});
  EXPECT_TRUE(contains(six.tiles.front().detail, " over 6 workloads; limit"))
      << six.tiles.front().detail;
}

TEST(Validate, JudgesBuildsApartAndNamesAllDifferences) {
  std::vector files{samples::file("e2e", trainings(1)), samples::file("e2e", trainings(1))};
  files[0].header.environment.commit = "old";
  files[1].header.environment.commit = "new";
  files[0].header.environment.flags = "-O2";
  files[1].header.environment.flags = "-O3";
  files[1].path = "later.jsonl";
  const Validation both = validated(files);
  ASSERT_EQ(both.runs.size(), 4U);
  EXPECT_EQ(both.runs.front().build, "build 1");
  EXPECT_EQ(both.runs.back().build, "build 2");
  EXPECT_EQ(both.summaries.front().workloads, 1);
  ASSERT_EQ(both.notes.size(), 2U);
  EXPECT_TRUE(contains(both.notes.front(), "build 1: commit old, compiler flags -O2 "));
  EXPECT_TRUE(contains(both.notes.back(), "build 2: commit new, compiler flags -O3 "));
  EXPECT_TRUE(contains(both.notes.back(), "(later.jsonl)"));
  EXPECT_EQ(both.summaries.back().group, "build 2");
  EXPECT_EQ(page_of(both, {}).tiles.back().detail,
            "of 4 configurations: network, batch, ranks, schedule and build");
  const auto bars = figure::phase_bars(both);
  ASSERT_TRUE(bars);
  EXPECT_TRUE(contains(bars->svg, "wait_free, build 2: "));
  const Table table = runs_table(both);
  EXPECT_EQ(table.columns.at(5).heading, "build");
}

}  // namespace
}  // namespace dlscale::report
