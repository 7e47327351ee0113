// What a host, a device and a copy engine do beside each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "model/sgd_iter/graph/closed_form.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/graph/iteration_parts.hpp"
#include "tests/model/expect_iteration.hpp"

namespace dlscale::model {
namespace {

constexpr Schedule overlap_plain_schedules[] = {Schedule::sequential, Schedule::wait_free,
                                                Schedule::bucketed};

/// A step: the host's time to give it and the device's to do it.
struct GivenStep {
  double give;
  double compute;
};

/// When the host has given, and the device done, what it was given.
struct Clock {
  double host = 0;
  double device = 0;
  void run(const GivenStep& step) {
    host += step.give;
    device = std::max(host, device) + step.compute;
  }
};

LaunchedWork sum(const std::vector<GivenStep>& steps) {
  LaunchedWork all;
  for (const GivenStep& one : steps) {
    all = all.then(LaunchedWork::step(Seconds(one.give), Seconds(one.compute)));
  }
  return all;
}

std::vector<GivenStep> random_steps(std::mt19937& random, double most_give) {
  std::uniform_real_distribution<double> give(0, most_give);
  std::uniform_real_distribution<double> compute(0, 1);
  std::vector<GivenStep> steps(std::uniform_int_distribution<std::size_t>(1, 30)(random));
  for (GivenStep& step : steps) step = {give(random), compute(random)};
  return steps;
}

TEST(GivenWork, IsExactlyTheRecursionOverItsSteps) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> offset(0, 10);
  for (int trial = 0; trial < 300; ++trial) {
    const auto steps = random_steps(random, 0.5 + trial % 3);
    const LaunchedWork all = sum(steps);
    const Clock start{offset(random), offset(random)};
    Clock clock = start;
    for (const GivenStep& step : steps) clock.run(step);
    EXPECT_NEAR(start.host + all.host.si(), clock.host, 1e-9);
    EXPECT_NEAR(std::max(start.device + all.device.si(), start.host + all.together.si()),
                clock.device, 1e-9);
  }
}

TEST(GivenWork, DoesNotDependOnWhereItIsCut) {
  std::mt19937 random(2);
  const auto steps = random_steps(random, 1);
  const LaunchedWork whole = sum(steps);
  for (std::size_t cut = 0; cut <= steps.size(); ++cut) {
    const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(cut);
    const LaunchedWork joined = sum({steps.begin(), middle}).then(sum({middle, steps.end()}));
    EXPECT_NEAR(joined.device.si(), whole.device.si(), 1e-12);
    EXPECT_NEAR(joined.host.si(), whole.host.si(), 1e-12);
    EXPECT_NEAR(joined.together.si(), whole.together.si(), 1e-12);
  }
}

TEST(GivenWork, ShowsAHostThatIsSlowerWhereItIs) {
  // Device 4 · 1 s. What an idle device takes, with a host that is slow to give the first step,
  EXPECT_EQ(sum({{3, 1}, {0.5, 1}, {0.5, 1}, {0.5, 1}}).together.si(), 7);
  // one in the middle, beside which the device has 1 s to do and 2 s left,
  EXPECT_EQ(sum({{0.5, 1}, {0.5, 1}, {3, 1}, {0.5, 1}}).together.si(), 6);
  // all of them,
  EXPECT_EQ(sum({{2, 1}, {2, 1}, {2, 1}, {2, 1}}).together.si(), 9);
  // none: only the first is waited for.
  EXPECT_EQ(sum({{0.5, 1}, {0.5, 1}, {0.5, 1}, {0.5, 1}}).together.si(), 4.5);
}

/// An iteration by its steps, in seconds.
struct StepPlan {
  double load = 0;
  int prefetch = 2;
  GivenStep copy{0, 0};
  std::vector<GivenStep> forward;
  std::vector<std::vector<GivenStep>> backward;
  std::vector<double> message;  ///< after each part; < 0: none
  GivenStep update{0, 0};
  Schedule schedule = Schedule::wait_free;
};

IterationPlan plan_of(const StepPlan& steps) {
  IterationPlan plan;
  plan.load = Seconds(steps.load);
  plan.prefetch = steps.prefetch;
  plan.h2d = sum({steps.copy});
  plan.forward = sum(steps.forward);
  for (std::size_t i = 0; i < steps.backward.size(); ++i) {
    BackwardPart part{sum(steps.backward[i]), {}};
    if (steps.message[i] >= 0) part.message = Seconds(steps.message[i]);
    plan.backward.push_back(part);
  }
  plan.update = sum({steps.update});
  plan.schedule = steps.schedule;
  plan.input_copy = InputCopy::ahead;
  return plan;
}

StepPlan random_step_plan(std::mt19937& random, Schedule schedule, double most_give) {
  std::uniform_real_distribution<double> time(0.01, 1);
  std::bernoulli_distribution has_message(0.5);
  StepPlan plan;
  plan.load = 20 * time(random);
  plan.prefetch = std::uniform_int_distribution<int>(1, 3)(random);
  plan.copy = {most_give * time(random), 20 * time(random)};
  plan.forward = random_steps(random, most_give);
  for (int part = 0; part < 4; ++part) {
    plan.backward.push_back(random_steps(random, most_give));
    plan.message.push_back(has_message(random) ? 5 * time(random) : -1);
  }
  plan.update = {most_give * time(random), time(random)};
  plan.schedule = schedule;
  return plan;
}

/// The engine's iteration, step by step: a host, a device, a copy engine, a communication thread.
class Engine {
 public:
  explicit Engine(const StepPlan& plan) : plan_(&plan) { stage(); }
  /// How long the next iteration takes.
  double iterate() {
    const double start = end_;
    clock_ = {start, std::max(start, copied_)};
    clock_.run({plan_->copy.give, 0});
    on_device_ = clock_.device;
    for (const GivenStep& step : plan_->forward) clock_.run(step);
    exchange();
    clock_.run(plan_->update);
    end_ = clock_.device;
    return end_ - start;
  }

 private:
  void exchange() {
    double sent = 0;
    const bool sequential = plan_->schedule == Schedule::sequential;
    for (std::size_t i = 0; i < plan_->backward.size(); ++i) {
      for (const GivenStep& step : plan_->backward[i]) clock_.run(step);
      if (!sequential && plan_->message[i] >= 0) {
        sent = std::max(sent, clock_.device) + plan_->message[i];
      }
    }
    stage();
    clock_.host = std::max(clock_.host, taken_.back());
    if (sequential) clock_.device = std::max(clock_.device, clock_.host);
    for (const double message : plan_->message) {
      if (sequential && message >= 0) sent = std::max(sent, clock_.device) + message;
    }
    clock_.host = std::max(clock_.host, sent);
    clock_.device = std::max(clock_.device, clock_.host);
  }
  void stage() {
    const auto ahead = static_cast<std::size_t>(plan_->prefetch);
    const double slot = taken_.size() >= ahead ? taken_[taken_.size() - ahead] : 0;
    read_ = std::max(read_, slot) + plan_->load;
    taken_.push_back(std::max({read_, clock_.host, on_device_}));
    copied_ = std::max(copied_, taken_.back()) + plan_->copy.compute;
  }

  const StepPlan* plan_;
  Clock clock_;
  double on_device_ = 0;
  double read_ = 0;
  double copied_ = 0;
  double end_ = 0;
  std::vector<double> taken_;
};

double mean_iteration(const StepPlan& plan) {
  Engine engine(plan);
  double sum = 0;
  for (int k = 0; k < 96; ++k) {
    const double time = engine.iterate();
    if (k >= 32) sum += time;
  }
  return sum / 64;
}

TEST(CopiedAhead, TakesAsLongAsTheEngineStepByStep) {
  std::mt19937 random(3);
  for (const Schedule schedule : overlap_plain_schedules) {
    for (const double most_give : {0.0, 0.3, 1.0, 3.0}) {
      for (int trial = 0; trial < 25; ++trial) {
        StepPlan steps = random_step_plan(random, schedule, most_give);
        if (trial % 5 == 0) std::ranges::fill(steps.message, -1);  // one worker
        const IterationTime time = simulate_iteration(plan_of(steps));
        const double expected = mean_iteration(steps);
        EXPECT_NEAR(time.total.si(), expected, 1e-6 * expected) << most_give << ' ' << trial;
        expect_phases_add_up(time);
      }
    }
  }
}

TEST(CopiedAhead, IsNeverSlowerThanOnThePath) {
  std::mt19937 random(4);
  for (const Schedule schedule : overlap_plain_schedules) {
    for (const double most_give : {0.0, 0.5, 2.0}) {
      for (int trial = 0; trial < 40; ++trial) {
        IterationPlan plan = plan_of(random_step_plan(random, schedule, most_give));
        const double ahead = simulate_iteration(plan).total.si();
        plan.input_copy = InputCopy::on_path;
        EXPECT_LE(ahead, simulate_iteration(plan).total.si() * (1 + 1e-9)) << most_give;
      }
    }
  }
}

/// Compute 4 s, of which 1 s is the update.
IterationPlan one_worker(double load, double copy) {
  IterationPlan plan;
  plan.load = Seconds(load);
  plan.h2d = Seconds(copy);
  plan.forward = Seconds(1);
  plan.backward = {{Seconds(2), {}}};
  plan.update = Seconds(1);
  plan.input_copy = InputCopy::ahead;
  return plan;
}

/// What an iteration waits for the batch to be read, and for its copy.
void expect_waits(const IterationPlan& plan, double io, double h2d) {
  const IterationTime time = simulate_iteration(plan);
  EXPECT_NEAR(time.io.si(), io, 1e-9);
  EXPECT_NEAR(time.h2d.si(), h2d, 1e-9);
  std::string why;
  const auto expected = closed_form(plan, why);
  ASSERT_TRUE(expected) << why;
  EXPECT_NEAR(expected->io.si(), io, 1e-9);
  EXPECT_NEAR(expected->h2d.si(), h2d, 1e-9);
}

TEST(CopiedAhead, ShowsOnlyWhatComputeDoesNotHide) {
  expect_waits(one_worker(3, 3), 0, 0);
  expect_waits(one_worker(0, 6), 0, 2);   // 6 s of copying, 4 s of compute
  expect_waits(one_worker(10, 1), 6, 0);  // read every 10 s; update and copy after it, side by side
  expect_waits(one_worker(5, 3), 0, 1);   // the copy starts 2 s before the end of the iteration
}

TEST(CopiedAhead, TravelsBesideTheComputeAndMessagesOfSeveralWorkers) {
  for (const Schedule schedule : overlap_plain_schedules) {
    IterationPlan plan = one_worker(0, 4.5);
    plan.backward = {{Seconds(2), Seconds(0.5)}};
    plan.schedule = schedule;
    expect_waits(plan, 0, 0);
    plan.h2d = Seconds(6);
    expect_waits(plan, 0, 1.5);  // 4.5 s of compute and the message
  }
}

TEST(CopiedAhead, CountsMessagesBesideAWaitForInputAsHidden) {
  IterationPlan plan = one_worker(10, 1);
  plan.backward = {{Seconds(2), Seconds(4)}};  // compute 3 s, message to 7 s, batch taken at 9 s
  expect_waits(plan, 6, 0);
  EXPECT_NEAR(simulate_iteration(plan).exposed_comm.si(), 0, 1e-9);
  EXPECT_NEAR(simulate_iteration(plan).hidden_comm.si(), 4, 1e-9);
  plan.schedule = Schedule::sequential;  // the batch is taken at 5 s, message and update after it
  expect_waits(plan, 2, 0);
  EXPECT_NEAR(simulate_iteration(plan).exposed_comm.si(), 4, 1e-9);
  EXPECT_NEAR(simulate_iteration(plan).hidden_comm.si(), 0, 1e-9);
}

TEST(CopiedAhead, HasNoClosedFormWhereTheHostTakesTimeAndSaysWhy) {
  IterationPlan plan = one_worker(0, 0);
  plan.update = LaunchedWork::step(Seconds(0.1), Seconds(1));
  expect_no_closed_form(plan, "host");
}

TEST(ASlowHost, SetsThePaceOfTheIteration) {
  IterationPlan plan = one_worker(0, 0);
  plan.forward = sum({{2, 1}, {2, 1}});
  plan.backward = {{sum({{2, 1}, {2, 1}}), {}}};
  plan.update = sum({{2, 1}});
  const IterationTime time = simulate_iteration(plan);
  EXPECT_NEAR(time.total.si(), 11, 1e-9);   // five times 2 s, and the last step
  EXPECT_NEAR(time.forward.si(), 5, 1e-9);  // 4 s, and its last step
  EXPECT_NEAR(time.backward.si(), 4, 1e-9);
  EXPECT_NEAR(time.update.si(), 2, 1e-9);
}

TEST(ASlowHost, IsHiddenWhereItRanAhead) {
  IterationPlan plan = one_worker(0, 0);
  plan.forward = sum({{0.5, 4}});
  plan.backward = {{sum({{1, 1}, {1, 1}}), {}}};  // given while forward ran
  plan.update = sum({{0.5, 1}});
  const IterationTime time = simulate_iteration(plan);
  EXPECT_NEAR(time.total.si(), 7.5, 1e-9);
  EXPECT_NEAR(time.backward.si(), 2, 1e-9);
  plan.backward = {{sum({{1, 1}, {1, 1}}), Seconds(0.5)}};  // now it waits for the message
  EXPECT_NEAR(simulate_iteration(plan).update.si(), 1.5, 1e-9);
}

}  // namespace
}  // namespace dlscale::model
