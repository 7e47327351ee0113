#include "model/parallel/pipeline/closed_form.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/parallel/schedule/family.hpp"
#include "tests/model/pipeline/random_pipeline.hpp"

/// Closed forms of pipelines against the simulation of their lists.
namespace dlscale::model {
namespace {

constexpr double rounding = 1e-11;

class EveryPipelineForm : public testing::TestWithParam<const parallel::PipelineSchedule*> {};

void expect_bounds(const RandomPipeline& pipeline, int& exact) {
  const double time =
      simulate(pipeline.schedule->schedule(pipeline.shape), pipeline.costs).makespan.si();
  const MakespanBounds form = closed_form(*pipeline.schedule, pipeline.shape, pipeline.costs);
  EXPECT_LE(form.lower.si(), time * (1 + rounding)) << pipeline.text();
  EXPECT_GE(form.upper.si(), time * (1 - rounding)) << pipeline.text();
  if (form.is_exact()) ++exact;
}

TEST_P(EveryPipelineForm, IsTheSimulatedTimeOrBoundsIt) {
  std::mt19937 random(7);
  int exact = 0;
  for (int i = 0; i < 1000; ++i) {
    expect_bounds(random_pipeline(random, *GetParam(), Parts::equal), exact);
  }
  EXPECT_GE(exact, 100);
  for (int i = 0; i < 1000; ++i) {
    expect_bounds(random_pipeline(random, *GetParam(), Parts::unequal), exact);
  }
}

INSTANTIATE_TEST_SUITE_P(Family, EveryPipelineForm,
                         testing::ValuesIn(family<parallel::PipelineSchedule>().members.begin(),
                                           family<parallel::PipelineSchedule>().members.end()),
                         [](const auto& info) { return std::string(info.param->name); });

PipelineCosts alike(int parts, double forward, double backward, double weights, double message) {
  const auto count = static_cast<std::size_t>(parts);
  return {std::vector<Seconds>(count, Seconds(forward)),
          std::vector<Seconds>(count, Seconds(backward)),
          std::vector<Seconds>(count, Seconds(weights)),
          std::vector<Seconds>(count - 1, Seconds(message))};
}

double exact_form(std::string_view name, const parallel::PipelineShape& shape,
                  const PipelineCosts& costs) {
  const MakespanBounds form = closed_form(parallel::find_schedule(name), shape, costs);
  EXPECT_TRUE(form.is_exact()) << name;
  return form.lower.si();
}

/// The shares of bubbles that the papers state, over the computing of an iteration: (S - 1) / m of
/// GPipe and 1F1B, (S - 1) / (v m) interleaved, and a third of 1F1B's of ZB-H1, whose forward,
/// backward and gradients of weights take the same time. [arXiv:1811.06965, 2104.04473, 2401.10241]
TEST(PipelineForm, HasTheBubblesOfThePapers) {
  const PipelineCosts costs = alike(8, 1, 2, 1, 0);
  const double computing = 32 * 3;
  EXPECT_DOUBLE_EQ(exact_form("gpipe", {8, 1, 32}, costs), computing * (1 + 7.0 / 32));
  EXPECT_DOUBLE_EQ(exact_form("1f1b", {8, 1, 32}, costs), computing * (1 + 7.0 / 32));
  EXPECT_DOUBLE_EQ(exact_form("zero_bubble", {8, 1, 32}, costs), computing * (1 + 7.0 / 32 / 3));
  const PipelineCosts chunks = alike(16, 0.5, 1, 0.5, 0);
  EXPECT_DOUBLE_EQ(exact_form("interleaved", {8, 2, 32}, chunks), computing * (1 + 7.0 / (2 * 32)));
}

/// GEMS computes m batches in less time than one after the other, by at most
/// S (f + b) / max(S b + f, S f + b): 3/2 of many stages if b = 2 f, 4/3 of four. [MODEL: derived]
TEST(PipelineForm, KeepsGemsBelowItsLimit) {
  std::mt19937 random(8);
  std::uniform_real_distribution<double> unit(0.1, 3);
  for (int i = 0; i < 200; ++i) {
    const int stages = static_cast<int>(2 + random() % 15);
    const double f = unit(random);
    const double b = unit(random);
    const PipelineCosts costs = alike(stages, f, b, 0, 0);
    const double limit = stages * (f + b) / std::max(stages * b + f, stages * f + b);
    double last = 1;
    for (const int batches : {2, 4, 8, 64}) {
      const double gain = exact_form("basic", {stages, 1, batches}, costs) /
                          exact_form("gems_master", {stages, 1, batches}, costs);
      EXPECT_GE(gain, last - 1e-12);
      EXPECT_LE(gain, limit + 1e-12);
      last = gain;
    }
    EXPECT_GE(last, 0.9 * limit);
  }
  const PipelineCosts four = alike(4, 1, 2, 0, 0);
  EXPECT_NEAR(
      exact_form("basic", {4, 1, 1000}, four) / exact_form("gems_master", {4, 1, 1000}, four),
      4.0 / 3, 2e-3);
}

/// 1F1B holds fewer micro-batches than GPipe, and so waits for messages that GPipe hides.
TEST(PipelineForm, CountsTheWaysOfMessagesThat1F1BWaitsFor) {
  const PipelineCosts costs = alike(8, 1, 2, 0, 0.1);
  EXPECT_NEAR(exact_form("gpipe", {8, 1, 32}, costs), 117 + 14 * 0.1, 1e-12);
  EXPECT_NEAR(exact_form("1f1b", {8, 1, 32}, costs), 117 + (14 + 54) * 0.1, 1e-12);
}

}  // namespace
}  // namespace dlscale::model
