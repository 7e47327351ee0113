// Computing and messages that slow each other down: the task graph, and its closed forms.
#include "model/sgd_iter/graph/iteration_parts.hpp"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "model/sgd_iter/graph/closed_form.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/graph/task_graph.hpp"
#include "tests/model/expect_iteration.hpp"

namespace dlscale::model {
namespace {

/// A device and a link that contend.
struct Pair {
  explicit Pair(double cores = 1e9)
      : graph(cores), device(graph.add(Resource{"device"})), link(graph.add(Resource{"link"})) {
    graph.contend(device, link);
  }
  TaskId compute(double seconds, const std::vector<Contention>& beside, double cores = 0,
                 std::vector<TaskId> after = {}) {
    return graph.add(Task{Seconds(seconds), device, cores, std::move(after), 0, {}, beside});
  }
  TaskId send(double seconds, double cores = 0, std::size_t kind = 0) {
    return graph.add(Task{Seconds(seconds), link, cores, {}, 0, {}, {}, kind});
  }

  TaskGraph graph;
  ResourceId device;
  ResourceId link;
};

TEST(ContendingTasks, GoOnAtFullSpeedOnceTheOtherIsDone) {
  Pair pair;
  const TaskId compute = pair.compute(4, {{2, 1.5}});
  const TaskId message = pair.send(1);
  const Timeline timeline = simulate(pair.graph);
  EXPECT_DOUBLE_EQ(timeline.finished(message).si(), 1.5);
  EXPECT_DOUBLE_EQ(timeline.finished(compute).si(), 4.75);  // 0.75 s of work done by 1.5 s
}

TEST(ContendingTasks, AreSlowedTheSameWhicheverLastsLonger) {
  Pair pair;
  const TaskId compute = pair.compute(1, {{2, 1.5}});
  const TaskId message = pair.send(4);
  const Timeline timeline = simulate(pair.graph);
  EXPECT_DOUBLE_EQ(timeline.finished(compute).si(), 2);
  EXPECT_DOUBLE_EQ(timeline.finished(message).si(), 2 + 4 - 2 / 1.5);
}

TEST(ContendingTasks, FollowTheKindOfTheMessage) {
  Pair pair;
  const TaskId compute = pair.compute(10, {{2, 1}, {4, 3}});
  const TaskId first = pair.send(1, 0, 0);
  const TaskId second = pair.send(2, 0, 1);
  const Timeline timeline = simulate(pair.graph);
  EXPECT_DOUBLE_EQ(timeline.finished(first).si(), 1);
  EXPECT_DOUBLE_EQ(timeline.finished(second).si(), 7);
  EXPECT_DOUBLE_EQ(timeline.finished(compute).si(), 7 + 10 - 0.5 - 1.5);
}

TEST(ContendingTasks, LeaveThoseWithoutContentionAlone) {
  Pair pair;
  const TaskId compute = pair.compute(4, {});
  const TaskId message = pair.send(1);
  const Timeline timeline = simulate(pair.graph);
  EXPECT_EQ(timeline.finished(message).si(), 1);
  EXPECT_EQ(timeline.finished(compute).si(), 4);
}

TEST(ContendingTasks, OnOneCoreCountItsSharingOnce) {
  // As the kernel halves it, when that is what was measured;
  Pair fair(1);
  const TaskId compute = fair.compute(3, {{2, 2}}, 1);
  const TaskId message = fair.send(1, 1);
  EXPECT_DOUBLE_EQ(simulate(fair.graph).finished(message).si(), 2);
  EXPECT_DOUBLE_EQ(simulate(fair.graph).finished(compute).si(), 4);
  // and as measured, where the thread that sends mostly sleeps.
  Pair asleep(1);
  const TaskId disturbed = asleep.compute(3, {{1.25, 2}}, 1);
  const TaskId slow = asleep.send(1, 1);
  EXPECT_DOUBLE_EQ(simulate(asleep.graph).finished(slow).si(), 2);
  EXPECT_DOUBLE_EQ(simulate(asleep.graph).finished(disturbed).si(), 3.4);
}

TEST(ContendingTasks, ShareTheirCoreWithALoaderToo) {
  Pair pair(1);
  const TaskId compute = pair.compute(3, {{1.25, 2}}, 1);
  const TaskId message = pair.send(1, 1);
  const TaskId loader = pair.graph.add(Task{Seconds(10), {}, 1, {}});
  const Timeline timeline = simulate(pair.graph);
  // Three want the core: the loader has a third, the others two thirds of what they had by
  // themselves, until 3 s; then both that are left have a half.
  EXPECT_NEAR(timeline.finished(message).si(), 3, 1e-12);
  EXPECT_NEAR(timeline.finished(compute).si(), 3 + 2 * (3 - 1.6), 1e-12);
  EXPECT_NEAR(timeline.finished(loader).si(), 5.8 + 10 - 1 - 1.4, 1e-12);
}

TEST(ContendingTasks, TravelInPacksToo) {
  TaskGraph graph;
  const ResourceId device = graph.add(Resource{"device"});
  Resource resource{"link"};
  resource.packing = Packing{Seconds(1),
                             Bytes(100),
                             Seconds(),
                             0,
                             [](Bytes size) { return Seconds(1 + size.si()); },
                             1,
                             [](Bytes size) { return size < Bytes(2) ? 1U : 0U; }};
  const ResourceId link = graph.add(resource);
  graph.contend(device, link);
  const TaskId compute = graph.add(Task{Seconds(10), device, 0, {}, 0, {}, {{9, 9}, {4, 2}}});
  const TaskId message = graph.add(Task{Seconds(), link, 0, {}, 0, Bytes(1)});
  const Timeline timeline = simulate(graph);
  EXPECT_DOUBLE_EQ(timeline.finished(message).si(), 5);   // found at 1 s, 2 s alone
  EXPECT_DOUBLE_EQ(timeline.finished(compute).si(), 13);  // 1 s, 4 s at a quarter, 8 s
}

TEST(ContendingTasks, NeedOneServerEach) {
  TaskGraph graph;
  const ResourceId one = graph.add(Resource{"one"});
  const ResourceId two = graph.add(Resource{"two", 2});
  EXPECT_THROW(graph.contend(one, two), std::logic_error);
  EXPECT_THROW(graph.contend(one, one), std::logic_error);
}

LaunchedWork convolution(double seconds) {
  return LaunchedWork::step(Seconds(), Seconds(seconds), WorkKind::conv);
}
LaunchedWork copying(double seconds) {
  return LaunchedWork::step(Seconds(), Seconds(seconds), WorkKind::copy);
}

TEST(MeanContention, IsThatOfTheKindsOneAfterTheOther) {
  const ContentionByWork by_work{Contention{}, {2, 1.5}, {1.2, 3}};
  const Contention mean = mean_contention(convolution(1).then(copying(3)), by_work);
  Pair apart;
  const TaskId first = apart.compute(1, {by_work[1]});
  const TaskId second = apart.compute(3, {by_work[2]}, 0, {first});
  const TaskId message = apart.send(9);
  Pair whole;
  const TaskId both = whole.compute(4, {mean});
  const TaskId same = whole.send(9);
  const Timeline expected = simulate(apart.graph);
  const Timeline timeline = simulate(whole.graph);
  EXPECT_NEAR(timeline.finished(both).si(), expected.finished(second).si(), 1e-12);
  EXPECT_NEAR(timeline.finished(same).si(), expected.finished(message).si(), 1e-12);
}

TEST(MeanContention, IsNoneOfWorkOfNoKnownKind) {
  const ContentionByWork by_work{Contention{2, 3}, {2, 3}, {2, 3}};
  EXPECT_EQ(mean_contention(LaunchedWork(Seconds(1)), by_work).compute, 1);
  EXPECT_EQ(mean_contention(LaunchedWork(Seconds(1)), by_work).messages, 1);
  EXPECT_EQ(mean_contention(LaunchedWork(), by_work).compute, 1);
  EXPECT_NEAR(mean_contention(convolution(1).then(Seconds(1)), by_work).compute, 1.5, 1e-12);
}

ContentionByWork alike(double compute, double messages) {
  ContentionByWork by_work;
  by_work.fill({compute, messages});
  return by_work;
}

/// Two layers: backward 2 s and 3 s, messages of `first` and 0.5 s, forward 1 s, update 0.25 s.
IterationPlan two_layers(double first) {
  IterationPlan plan;
  plan.forward = convolution(1);
  plan.backward = {{convolution(2), Seconds(first)}, {convolution(3), Seconds(0.5)}};
  plan.update = copying(0.25);
  return plan;
}

void expect_two_layers(const IterationPlan& plan, double backward, double exposed, double hidden) {
  const IterationTime time = simulate_iteration(plan);
  EXPECT_NEAR(time.backward.si(), backward, 1e-12);
  EXPECT_NEAR(time.exposed_comm.si(), exposed, 1e-12);
  EXPECT_NEAR(time.hidden_comm.si(), hidden, 1e-12);
  EXPECT_NEAR(time.total.si(), 1.25 + backward + exposed, 1e-12);
  expect_closed_form(plan);
}

TEST(TwoLayers, TakeWhatAHandComputes) {
  IterationPlan plan = two_layers(1);
  expect_two_layers(plan, 5, 0.5, 1);
  plan.contention = {alike(2, 1.5)};
  expect_two_layers(plan, 5.75, 0.5, 1.5);  // the message for 1.5 s, in which 0.75 s is computed
  plan = two_layers(6);
  plan.contention = {alike(2, 1.5)};
  expect_two_layers(plan, 8, 2.5, 6);  // 3 s in 6 s, in which 4 s of the message pass
}

TEST(TwoLayers, WaitForEachOtherAtTheLimits) {
  IterationPlan plan = two_layers(1);
  plan.contention = {alike(1, 1)};
  expect_two_layers(plan, 5, 0.5, 1);
  // Work that all but stands still beside messages: as if they came one after the other.
  plan.contention = {alike(1e9, 1)};
  EXPECT_NEAR(simulate_iteration(plan).backward.si(), 6, 1e-8);
  // Messages that do, beside computing: all of them show.
  plan.contention = {alike(1, 1e9)};
  EXPECT_NEAR(simulate_iteration(plan).exposed_comm.si(), 1.5, 1e-8);
  EXPECT_NEAR(simulate_iteration(plan).backward.si(), 5, 1e-12);
}

TEST(TwoLayers, SentAfterBackwardContendWithNothing) {
  IterationPlan plan = two_layers(1);
  plan.contention = {alike(2, 1.5)};
  plan.schedule = Schedule::sequential;
  expect_two_layers(plan, 5, 1.5, 0);
}

/// Contention drawn at random, of `kinds` kinds of messages.
std::vector<ContentionByWork> random_contention(std::mt19937& random, int kinds) {
  std::uniform_real_distribution<double> slowdown(1, 4);
  std::vector<ContentionByWork> contention;
  for (int kind = 0; kind < kinds; ++kind) {
    for (Contention& one : contention.emplace_back()) one = {slowdown(random), slowdown(random)};
  }
  return contention;
}

IterationPlan random_contended_plan(std::mt19937& random, int kinds) {
  std::uniform_real_distribution<double> time(0.01, 1);
  std::uniform_int_distribution<int> few(1, 4);
  std::uniform_int_distribution<std::size_t> kind(0, static_cast<std::size_t>(kinds) - 1);
  std::bernoulli_distribution has_message(0.7);
  IterationPlan plan;
  plan.loader_threads = few(random);
  plan.prefetch = few(random);
  plan.load = Seconds(5 * time(random));
  plan.h2d = copying(time(random));
  plan.forward = convolution(time(random));
  plan.update = copying(time(random));
  for (int i = few(random) * few(random); i >= 0; --i) {
    BackwardPart part{convolution(time(random)).then(copying(time(random))), {}};
    if (has_message(random)) part.message = Seconds(2 * time(random));
    part.kind = kind(random);
    plan.backward.push_back(part);
  }
  return plan;
}

TEST(Contention, SimulatedEqualsTheClosedForm) {
  std::mt19937 random(71);
  for (const int kinds : {1, 3}) {
    for (int trial = 0; trial < 200; ++trial) {
      IterationPlan plan = random_contended_plan(random, kinds);
      plan.contention = random_contention(random, kinds);
      if (trial % 3 == 1) plan.input_copy = InputCopy::ahead;
      if (trial % 3 == 2) plan.load = Seconds();
      expect_closed_form(plan, 1e-9);
    }
  }
}

TEST(Contention, OfNoSlowDownChangesNothing) {
  std::mt19937 random(72);
  for (int trial = 0; trial < 100; ++trial) {
    IterationPlan plan = random_contended_plan(random, 1);
    plan.loader_cores = plan.compute_cores = plan.comm_cores = 1;
    plan.cores = 2 + plan.loader_threads;
    const IterationTime expected = simulate_iteration(plan);
    plan.contention = {alike(1, 1)};
    expect_equal(simulate_iteration(plan), expected, 1e-9);
  }
}

TEST(Contention, AsTheKernelSharesOneCoreIsWhatSharingItCosts) {
  std::mt19937 random(73);
  for (int trial = 0; trial < 50; ++trial) {
    IterationPlan plan = random_contended_plan(random, 1);
    plan.load = Seconds();
    plan.compute_cores = plan.comm_cores = plan.copy_cores = plan.cores = 1;
    const IterationTime expected = simulate_iteration(plan);
    plan.contention = {alike(2, 2)};
    expect_equal(simulate_iteration(plan), expected, 1e-9);
  }
}

TEST(Contention, NeverMakesAnIterationShorter) {
  std::mt19937 random(74);
  for (int trial = 0; trial < 50; ++trial) {
    IterationPlan plan = random_contended_plan(random, 1);
    if (trial % 2 == 1) plan.input_copy = InputCopy::ahead;
    double before = simulate_iteration(plan).total.si();
    for (const auto& [compute, messages] :
         {std::pair(1.0, 1.5), std::pair(1.3, 1.5), std::pair(1.3, 2.5), std::pair(3.0, 2.5),
          std::pair(50.0, 60.0)}) {
      plan.contention = {alike(compute, messages)};
      const double now = simulate_iteration(plan).total.si();
      EXPECT_GE(now, before * (1 - 1e-9)) << compute << ' ' << messages;
      before = now;
    }
  }
}

TEST(Contention, HasNoClosedFormWherePacksOrTheNextForwardAreWaitedForAndSaysWhy) {
  IterationPlan plan = two_layers(1);
  plan.contention = {alike(2, 1.5)};
  plan.packing =
      Packing{Seconds(0.1), Bytes(1e9), Seconds(), 0, [](Bytes) { return Seconds(1); }, 2};
  expect_no_closed_form(plan, "slow one another down");
  plan.packing.reset();
  plan.schedule = Schedule::reduce_scatter_overlap;
  plan.update = {};
  plan.backward[0].gather = plan.backward[1].gather = Seconds(1);
  plan.late = {{1, copying(0.1), convolution(1)}, {0, copying(0.1), convolution(1)}};
  expect_no_closed_form(plan, "slow one another down");
}

TEST(Contention, SlowsTheNextForwardBesideGathers) {
  // Backward 1 s; a reduce-scatter of 1 s; gathers of 1 s each; forward 1 s and 4 s.
  IterationPlan plan;
  plan.schedule = Schedule::reduce_scatter_overlap;
  plan.backward = {{convolution(1), Seconds(1)}, {convolution(1), Seconds(1)}};
  for (BackwardPart& part : plan.backward) {
    part.gather = Seconds(1);
    part.gather_kind = 1;
  }
  plan.late = {{1, {}, convolution(4)}, {0, {}, convolution(1)}};
  plan.contention = {alike(1, 1), alike(2, 1.5)};
  const IterationTime time = simulate_iteration(plan);
  // The first layer's gather ends 2 s after backward; beside its forward the other takes 1.5 s, in
  // which 0.75 s is computed, then 3.25 s, and 1 s.
  EXPECT_NEAR(time.exposed_comm.si(), 2, 1e-12);
  EXPECT_NEAR(time.forward.si(), 4.75 + 1, 1e-12);
  EXPECT_NEAR(time.backward.si(), 2, 1e-12);
  expect_phases_add_up(time);
}

}  // namespace
}  // namespace dlscale::model
