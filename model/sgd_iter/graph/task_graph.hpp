#pragma once
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "model/sgd_iter/graph/iteration_parts.hpp"

namespace dlscale::model {

using ResourceId = Id<struct ResourceTag>;

/// Order in which waiting tasks get a resource, without preemption.
enum class Order {
  ready,   ///< first become ready, first served
  urgent,  ///< the smallest Task::rank first; among equals the first to become ready
};

/// Serves tasks in the order in which they become ready, `servers` at a time: a stream, a link, a
/// copy engine (one server), a pool of threads (several).
struct Resource {
  std::string name;
  int servers = 1;
  Order order = Order::ready;
  std::optional<Packing> packing = {};  ///< only with one server in order of readiness
  /// Tasks in progress at one server, one served and the others committed to follow in this
  /// order, whatever becomes ready meanwhile; ≥ 1. A task that becomes ready while there is room is
  /// committed at once.
  int window = 1;
  /// Time ≥ 0 from choosing a task until it can be served, at one server that does not pack.
  /// Choices run one at a time, during service, and occupy a place of the window.
  Seconds choice = {};
};

/// A piece of work. It starts when all tasks in `after` have finished and its resource is free;
/// without a resource, as soon as they have finished.
struct Task {
  Seconds work;  ///< time with enough processor cores, ≥ 0
  std::optional<ResourceId> resource;
  double cores = 0;  ///< processor cores it keeps busy while it runs
  std::vector<TaskId> after;
  int rank = 0;     ///< urgency, for Order::urgent; the smallest is first
  Bytes size = {};  ///< message size, where the resource packs; replaces `work`
  /// Slow-downs of computing, by kind of message; empty: messages do not slow it. See contend().
  std::vector<Contention> beside = {};
  std::size_t kind = 0;  ///< kind of a message outside of packs
  /// ≥ 0: time from the start of service, by one server that does not pack, to the start of its
  /// work. The thread sleeps: it keeps no cores busy and contends with nothing.
  Seconds barrier = {};
};

/// The tasks of some iterations and their resources. All tasks share `cores` processor
/// cores. While running tasks want more, all that use any slow down in proportion, as under a fair
/// scheduler with threads that never sleep.
class TaskGraph {
 public:
  explicit TaskGraph(double cores = std::numeric_limits<double>::infinity());
  ResourceId add(Resource resource);
  /// `task.after` names tasks added before, so a graph has no cycle.
  TaskId add(Task task);
  /// Makes tasks of `computing` and of `messages` slow each other down while both run
  /// (task_graph.cpp): by Task::beside of the one at the kind of the other. Both resources have one
  /// server.
  void contend(ResourceId computing, ResourceId messages);

  /// The resources of contend(), if it was called.
  struct Contenders {
    ResourceId computing;
    ResourceId messages;
  };
  [[nodiscard]] const std::optional<Contenders>& contenders() const { return contenders_; }
  [[nodiscard]] double cores() const { return cores_; }
  [[nodiscard]] const std::vector<Resource>& resources() const { return resources_; }
  [[nodiscard]] const std::vector<Task>& tasks() const { return tasks_; }

 private:
  double cores_;
  std::optional<Contenders> contenders_;
  std::vector<Resource> resources_;
  std::vector<Task> tasks_;
};

/// When each task ran; time 0 is the start of the first.
struct Timeline {
  std::vector<Seconds> start;   ///< by task; includes its barrier
  std::vector<Seconds> finish;  ///< by task
  [[nodiscard]] Seconds started(TaskId task) const { return start[task.index()]; }
  [[nodiscard]] Seconds finished(TaskId task) const { return finish[task.index()]; }
  [[nodiscard]] Seconds elapsed(TaskId task) const { return finished(task) - started(task); }
};

/// Simulates the graph by events, in O((tasks + edges) log tasks). Equal graphs give equal
/// timelines.
Timeline simulate(const TaskGraph& graph);

}  // namespace dlscale::model
