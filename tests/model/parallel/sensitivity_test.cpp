#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/parallel/timeline/part_costs.hpp"
#include "tests/model/parallel/random_plan.hpp"

/// Signs of sensitivities: better hardware never slows an iteration down, and more work never
/// speeds it up. Pipelines are simulated where predictions simulate them.
namespace dlscale::model::parallel_time {
namespace {

/// Others with --gtest_shuffle, in each repetition.
RandomTrainings drawn_from(unsigned seed) {
  return RandomTrainings(
      seed + 1000 * static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed()));
}

double predicted(const PlannedQuestion& of) {
  return plan_time(of.setting(), of.sizes(), of.plan).total;
}

/// Relative. Gradients of weights wait behind the last backward. What else shortens backward may
/// leave them a larger part of it, and so zero bubbles a little longer.
double slack(const PlannedQuestion& of) {
  return of.plan.schedule == "zero_bubble" ? 1e-3 : rounding;
}

template <class Change>
void expect_no_slower(const PlannedQuestion& of, const char* what, Change change) {
  PlannedQuestion better = of;
  change(better.question);
  EXPECT_LE(predicted(better), predicted(of) * (1 + slack(of))) << what << ": " << of.text();
}

template <class Change>
void expect_no_quicker(const PlannedQuestion& of, const char* what, Change change) {
  PlannedQuestion more = of;
  change(more.question);
  EXPECT_GE(predicted(more), predicted(of) * (1 - slack(of))) << what << ": " << of.text();
}

TEST(ParallelSensitivity, BetterHardwareNeverSlowsDown) {
  RandomTrainings random = drawn_from(50);
  int compiled = 0;
  for (int i = 0; i < 400; ++i) {
    const PlannedQuestion of = random_plan(random);
    expect_no_slower(of, "node's link", [](Question& is) { is.links.inside *= 1.7; });
    expect_no_slower(of, "network", [](Question& is) { is.links.network *= 1.7; });
    expect_no_slower(of, "quick starts", [](Question& is) { is.links.starts_slowly = false; });
    expect_no_slower(of, "memory", [](Question& is) { is.device.bandwidth *= 1.3; });
    Family fewer = *of.question.family;
    fewer.own_work.launches /= 2;
    expect_no_slower(of, "launches", [&](Question& is) { is.family = &fewer; });
    if (of.question.family->compiling != Compiling::on_request) continue;
    if (!of.question.plan.hides_gradients) continue;
    if (of.question.plan.zero_bubble) continue;  // another share of backward is for weights
    ++compiled;
    expect_no_slower(of, "compiled", [](Question& is) { is.plan.compiled = true; });
  }
  EXPECT_GT(compiled, 0);
}

TEST(ParallelSensitivity, MoreWorkNeverSpeedsUp) {
  RandomTrainings random = drawn_from(51);
  for (int i = 0; i < 400; ++i) {
    const PlannedQuestion of = random_plan(random);
    expect_no_quicker(of, "sequence", [](Question& is) { is.shape.sequence *= 2; });
    expect_no_quicker(of, "a longer sequence",
                      [](Question& is) { is.shape.sequence += is.shape.sequence / 4; });
    expect_no_quicker(of, "inner width", [](Question& is) { is.shape.ffn *= 2; });
    expect_no_quicker(of, "a wider inner width", [](Question& is) { is.shape.ffn += 64; });
    expect_no_quicker(of, "width", [](Question& is) {
      is.shape.heads *= 2;
      is.shape.kv_heads *= 2;
      is.shape.hidden *= 2;
    });
    expect_no_quicker(of, "vocabulary", [](Question& is) { is.shape.vocabulary += 12345; });
    expect_no_quicker(of, "micro-batch", [](Question& is) { is.plan.micro_batch += 1; });
  }
}

/// Anything that a plan may ask for, wherever it lies.
PlanSizes wild_sizes(RandomTrainings& random) {
  PlanSizes is = random.plan();
  const auto power = [&](std::size_t most) {
    return std::exp2(static_cast<double>(random.below(most + 1)));
  };
  is.tensor = power(10);
  is.stages = static_cast<double>(1 + random.below(96));
  is.data = static_cast<double>(1 + random.below(5000));
  is.context = power(9);
  is.experts = power(8);
  is.micro_batch = static_cast<double>(1 + random.below(512));
  is.micro_batches = static_cast<double>(1 + random.below(100'000));
  is.chunks = static_cast<double>(1 + random.below(12));
  is.recompute = parallel::all_recomputes.at(random.below(4));
  is.recompute_share = static_cast<double>(random.below(101)) / 100;
  return is;
}

/// With --gtest_shuffle --gtest_repeat=50, a million sizes.
TEST(ParallelSensitivity, AnySizesHaveFiniteTimes) {
  RandomTrainings random = drawn_from(52);
  for (int i = 0; i < 20'000; ++i) {
    Question of = random_question(random);
    of.plan = wild_sizes(random);
    of.links = random.links(of.plan);
    const IterationTime time = iteration_time(setting_of(of), of.plan);
    ASSERT_TRUE(std::isfinite(time.total) && time.total > 0);
    for (const double part : {time.layer.layer.forward, time.layer.layer.backward, time.embedding,
                              time.head, time.stage_message, time.stage_messages, time.pipeline,
                              time.exposed_gradients, time.update}) {
      ASSERT_TRUE(std::isfinite(part) && part >= 0);
    }
    ASSERT_LE(time.pipeline + time.exposed_gradients + time.update, time.total * (1 + 1e-12));
  }
}

}  // namespace
}  // namespace dlscale::model::parallel_time
