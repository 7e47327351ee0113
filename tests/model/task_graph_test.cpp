#include "model/sgd_iter/graph/task_graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace dlscale::model {
namespace {

Task work(double seconds, double cores = 0, std::vector<TaskId> after = {}) {
  return Task{Seconds(seconds), {}, cores, std::move(after)};
}

TEST(TaskGraph, RunsChainedTasksOneAfterAnother) {
  TaskGraph graph;
  const TaskId a = graph.add(work(1));
  const TaskId b = graph.add(work(2, 0, {a}));
  const Timeline timeline = simulate(graph);
  EXPECT_EQ(timeline.started(b).si(), 1);
  EXPECT_EQ(timeline.finished(b).si(), 3);
}

TEST(TaskGraph, WaitsForTheLastPredecessor) {
  TaskGraph graph;
  const TaskId a = graph.add(work(1));
  const TaskId b = graph.add(work(5));
  const TaskId c = graph.add(work(1, 0, {a, b}));
  EXPECT_EQ(simulate(graph).finished(c).si(), 6);
}

TEST(TaskGraph, ServesAnExclusiveResourceInOrderOfReadiness) {
  TaskGraph graph;
  const ResourceId link = graph.add(Resource{"link", 1});
  const TaskId late = graph.add(work(2));
  const TaskId early = graph.add(work(1));
  const TaskId second = graph.add(Task{Seconds(3), link, 0, {late}});
  const TaskId first = graph.add(Task{Seconds(3), link, 0, {early}});
  const Timeline timeline = simulate(graph);
  EXPECT_EQ(timeline.started(first).si(), 1);
  EXPECT_EQ(timeline.started(second).si(), 4);
}

TEST(TaskGraph, LetsAPoolServeAsManyAsItHasServers) {
  TaskGraph graph;
  const ResourceId pool = graph.add(Resource{"pool", 2});
  std::vector<TaskId> tasks;
  tasks.reserve(5);
  for (int i = 0; i < 5; ++i) tasks.push_back(graph.add(Task{Seconds(1), pool, 0, {}}));
  EXPECT_EQ(simulate(graph).finished(tasks.back()).si(), 3);
}

TEST(TaskGraph, HalvesTheSpeedOfTwoTasksOnOneCore) {
  TaskGraph graph(1);
  const TaskId compute = graph.add(work(3, 1));
  const TaskId comm = graph.add(work(1, 1));
  const Timeline timeline = simulate(graph);
  EXPECT_DOUBLE_EQ(timeline.finished(comm).si(), 2);     // half speed throughout
  EXPECT_DOUBLE_EQ(timeline.finished(compute).si(), 4);  // half for 2 s, whole for 2 s
}

TEST(TaskGraph, SlowsDownInProportionToDemand) {
  TaskGraph graph(2);
  const TaskId wide = graph.add(work(2, 2));
  const TaskId narrow = graph.add(work(2, 1));
  const Timeline timeline = simulate(graph);  // 3 cores wanted of 2: speed 2/3
  EXPECT_DOUBLE_EQ(timeline.finished(wide).si(), 3);
  EXPECT_DOUBLE_EQ(timeline.finished(narrow).si(), 3);
}

TEST(TaskGraph, LeavesTasksThatNeedNoCoreAtFullSpeed) {
  TaskGraph graph(1);
  graph.add(work(10, 1));
  graph.add(work(10, 1));
  const TaskId disk = graph.add(work(5));
  EXPECT_EQ(simulate(graph).finished(disk).si(), 5);
}

TEST(TaskGraph, SlowsNobodyWhileThereAreCoresEnough) {
  TaskGraph graph(3);
  const TaskId a = graph.add(work(3, 1));
  const TaskId b = graph.add(work(1, 2));
  const Timeline timeline = simulate(graph);
  EXPECT_EQ(timeline.finished(a).si(), 3);
  EXPECT_EQ(timeline.finished(b).si(), 1);
}

TEST(TaskGraph, WastesNoCoreWhateverOrderTasksComeIn) {
  // Random independent tasks of one core each: while ≥ C of them run, C cores' worth is done.
  std::mt19937 random(7);
  std::uniform_real_distribution<double> seconds(0.1, 2);
  for (int trial = 0; trial < 50; ++trial) {
    TaskGraph graph(1);
    double all = 0;
    double finish = 0;
    for (int i = 0; i < 20; ++i) {
      const double s = seconds(random);
      all += s;
      graph.add(work(s, 1));
    }
    for (const Seconds end : simulate(graph).finish) finish = std::max(finish, end.si());
    EXPECT_NEAR(finish, all, 1e-9 * all);
  }
}

/// A task of 1 s of a rank for a link that serves the most urgent.
Task urgent(ResourceId link, int rank, std::vector<TaskId> after = {}) {
  return Task{Seconds(1), link, 0, std::move(after), rank};
}

TEST(TaskGraph, ServesTheMostUrgentOfThoseThatWait) {
  TaskGraph graph;
  const ResourceId link = graph.add(Resource{"link", 1, Order::urgent});
  const TaskId first = graph.add(urgent(link, 3));  // at once: nothing else is ready yet
  const TaskId late = graph.add(urgent(link, 2));
  const TaskId early = graph.add(urgent(link, 1));
  const TaskId equal = graph.add(urgent(link, 2));
  const Timeline timeline = simulate(graph);
  EXPECT_EQ(timeline.started(first).si(), 0);
  EXPECT_EQ(timeline.started(early).si(), 1);
  EXPECT_EQ(timeline.started(late).si(), 2);
  EXPECT_EQ(timeline.started(equal).si(), 3);
}

TEST(TaskGraph, ServesManyThatWaitByUrgencyAndEqualOnesInOrder) {
  std::mt19937 random(9);
  TaskGraph graph;
  const ResourceId link = graph.add(Resource{"link", 1, Order::urgent});
  graph.add(urgent(link, 0));  // at once; the others wait for it
  std::vector<std::pair<int, TaskId>> waiting;
  for (int i = 0; i < 200; ++i) {
    const int rank = static_cast<int>(random() % 20);
    waiting.emplace_back(rank, graph.add(urgent(link, rank)));
  }
  std::ranges::stable_sort(waiting, {}, &std::pair<int, TaskId>::first);
  const Timeline timeline = simulate(graph);
  double start = 1;
  for (const auto& [rank, task] : waiting) EXPECT_EQ(timeline.started(task).si(), start++) << rank;
}

TEST(TaskGraph, LetsNothingOvertakeWhatIsUnderWay) {
  for (const int window : {1, 2, 3}) {
    TaskGraph graph;
    Resource resource{"link", 1, Order::urgent};
    resource.window = window;
    const ResourceId link = graph.add(resource);
    for (int i = 0; i < 4; ++i) graph.add(urgent(link, 9));
    const TaskId half = graph.add(work(0.5));
    const TaskId needed = graph.add(urgent(link, 1, {half}));
    EXPECT_EQ(simulate(graph).started(needed).si(), window) << window;
  }
}

TEST(TaskGraph, ChoosesBesideWhatItServes) {
  for (const int window : {1, 2, 3}) {
    TaskGraph graph;
    Resource resource{"link", 1, Order::urgent};
    resource.window = window;
    resource.choice = Seconds(0.25);
    const ResourceId link = graph.add(resource);
    std::vector<TaskId> tasks;
    tasks.reserve(4);
    for (int i = 0; i < 4; ++i) tasks.push_back(graph.add(urgent(link, 9)));
    const Timeline timeline = simulate(graph);
    // Only the first choice shows, unless nothing else may be under way meanwhile.
    const double period = window == 1 ? 1.25 : 1;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      EXPECT_EQ(timeline.started(tasks[i]).si(), 0.25 + period * static_cast<double>(i)) << window;
    }
  }
}

TEST(TaskGraph, ChoosesFromWhatIsReadyWhenAChoiceBegins) {
  TaskGraph graph;
  Resource resource{"link", 1, Order::urgent};
  resource.window = 2;
  resource.choice = Seconds(0.25);
  const ResourceId link = graph.add(resource);
  const TaskId first = graph.add(urgent(link, 9));
  const TaskId second = graph.add(urgent(link, 9));
  const TaskId third = graph.add(urgent(link, 9));
  const TaskId soon = graph.add(urgent(link, 1, {graph.add(work(0.375))}));
  const TaskId last = graph.add(urgent(link, 0, {graph.add(work(0.4375))}));
  const Timeline timeline = simulate(graph);
  EXPECT_EQ(timeline.started(first).si(), 0.25);
  EXPECT_EQ(timeline.started(second).si(), 1.25);  // chosen at 0.25 s
  EXPECT_EQ(timeline.started(last).si(), 2.25);    // chosen at 1.25 s, when there was room again
  EXPECT_EQ(timeline.started(soon).si(), 3.25);
  EXPECT_EQ(timeline.started(third).si(), 4.25);
}

TEST(TaskGraph, ChoosesOneAtATime) {
  TaskGraph graph;
  Resource resource{"link", 1, Order::urgent};
  resource.window = 4;
  resource.choice = Seconds(2);
  const ResourceId link = graph.add(resource);
  std::vector<TaskId> tasks;
  tasks.reserve(4);
  for (int i = 0; i < 4; ++i) tasks.push_back(graph.add(urgent(link, 9)));
  const Timeline timeline = simulate(graph);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    EXPECT_EQ(timeline.started(tasks[i]).si(), 2.0 * static_cast<double>(i + 1));
  }
}

/// A link that looks every `cycle`, votes for `vote` and takes 1 s and 1 s a byte for a pack.
Resource packing_link(std::size_t messages, double cycle, double threshold, double vote) {
  Resource resource{"link"};
  resource.packing = Packing{Seconds(cycle),
                             Bytes(threshold),
                             Seconds(vote),
                             0,
                             [](Bytes size) { return Seconds(1 + size.si()); },
                             messages};
  return resource;
}

/// Of `size` bytes, ready at `ready`.
TaskId add_message(TaskGraph& graph, ResourceId link, double ready, double size) {
  const TaskId before = graph.add(work(ready));
  return graph.add(Task{Seconds(), link, 0, {before}, 0, Bytes(size)});
}

TEST(Packing, ServesWhatALookFindsAndTheRestAtTheNext) {
  TaskGraph graph;
  const ResourceId link = graph.add(packing_link(3, 10, 100, 0.5));
  const TaskId a = add_message(graph, link, 1, 2);
  const TaskId b = add_message(graph, link, 10, 3);  // at the very look
  const TaskId c = add_message(graph, link, 10.25, 1);
  const Timeline timeline = simulate(graph);
  EXPECT_EQ(timeline.started(a).si(), 10.5);
  EXPECT_EQ(timeline.started(b).si(), 10.5);
  EXPECT_EQ(timeline.finished(a).si(), 16.5);
  EXPECT_EQ(timeline.finished(b).si(), 16.5);
  EXPECT_EQ(timeline.started(c).si(), 20.5);
}

TEST(Packing, LooksAgainWhenItIsDoneWhereThatIsAfterTheCycle) {
  TaskGraph graph;
  const ResourceId link = graph.add(packing_link(3, 2, 100, 0));
  const TaskId a = add_message(graph, link, 1, 9);  // found at 2 s, done at 12 s
  const TaskId b = add_message(graph, link, 3, 1);  // found at 12 s, done at 14 s
  const TaskId c = add_message(graph, link, 17, 1);
  const Timeline timeline = simulate(graph);
  EXPECT_EQ(timeline.finished(a).si(), 12);
  EXPECT_EQ(timeline.started(b).si(), 12);
  EXPECT_EQ(timeline.started(c).si(), 18);  // looks at 14, 16, 18 s
}

TEST(Packing, PutsAsMuchInAPackAsTheThresholdAllowsAndALargerOneAlone) {
  TaskGraph graph;
  const ResourceId link = graph.add(packing_link(5, 1, 4, 0));
  std::vector<TaskId> tasks;
  for (const double size : {1.0, 3.0, 1.0, 9.0, 2.0}) {
    tasks.push_back(add_message(graph, link, 0.5, size));
  }
  const Timeline timeline = simulate(graph);
  EXPECT_EQ(timeline.finished(tasks[0]).si(), 6);  // 1 and 3
  EXPECT_EQ(timeline.finished(tasks[1]).si(), 6);
  EXPECT_EQ(timeline.finished(tasks[2]).si(), 8);
  EXPECT_EQ(timeline.finished(tasks[3]).si(), 18);
  EXPECT_EQ(timeline.finished(tasks[4]).si(), 21);
}

TEST(Packing, KeepsItsCycleWhileItRests) {
  TaskGraph graph;
  const ResourceId link = graph.add(packing_link(1, 3, 100, 0));
  const TaskId a = add_message(graph, link, 1, 9);  // found at 3 s, done at 13 s
  const TaskId b = add_message(graph, link, 14, 1);
  const Timeline timeline = simulate(graph);
  EXPECT_EQ(timeline.finished(a).si(), 13);
  EXPECT_EQ(timeline.started(b).si(), 15);  // not 16 s, a cycle after it was done
}

TEST(Packing, SlowsComputeDownByVotesUntilAllMessagesAreFound) {
  TaskGraph graph(1);
  Resource resource = packing_link(2, 1, 100, 0.25);
  resource.packing->cores = 1;
  const ResourceId link = graph.add(resource);
  const TaskId compute = graph.add(work(3, 1));
  const TaskId early = graph.add(Task{Seconds(), link, 0, {}});
  const TaskId late = graph.add(Task{Seconds(), link, 0, {compute}});
  const Timeline timeline = simulate(graph);
  // A vote from 1 s on gets half of the core until 1.5 s, the message 1 s, the next vote, which
  // finds nothing, half of the core from 2.5 s to 3 s.
  EXPECT_EQ(timeline.started(early).si(), 1.5);
  EXPECT_EQ(timeline.finished(compute).si(), 3.5);
  EXPECT_EQ(timeline.started(late).si(), 3.75);
  TaskGraph resting(1);
  resting.add(resource);
  const TaskId undisturbed = resting.add(work(3, 1));
  EXPECT_EQ(simulate(resting).finished(undisturbed).si(), 3);
}

TEST(Packing, NeedsOneServerAndATimeForPacks) {
  TaskGraph graph;
  Resource resource = packing_link(1, 1, 0, 0);
  resource.servers = 2;
  EXPECT_THROW(graph.add(resource), std::logic_error);
  resource.servers = 1;
  resource.packing->time = nullptr;
  EXPECT_THROW(graph.add(resource), std::logic_error);
}

TEST(TaskGraph, AcceptsTasksWithoutWork) {
  TaskGraph graph(1);
  const TaskId a = graph.add(work(0));
  const TaskId b = graph.add(work(0, 1, {a}));
  EXPECT_EQ(simulate(graph).finished(b).si(), 0);
}

TEST(TaskGraph, RefusesTasksThatNameLaterOnes) {
  TaskGraph graph;
  EXPECT_THROW(graph.add(work(1, 0, {TaskId(0)})), std::logic_error);
  EXPECT_THROW(graph.add(work(-1)), std::logic_error);
  EXPECT_THROW(graph.add(Task{Seconds(1), ResourceId(0), 0, {}}), std::logic_error);
}

TEST(TaskGraph, IsEmptyWithoutTasks) {
  EXPECT_TRUE(simulate(TaskGraph()).finish.empty());
}

}  // namespace
}  // namespace dlscale::model
