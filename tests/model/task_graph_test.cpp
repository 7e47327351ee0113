#include "model/sgd_iter/task_graph.hpp"

#include <gtest/gtest.h>

#include <random>

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
