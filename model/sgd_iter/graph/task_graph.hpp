#pragma once
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "model/sgd_iter/graph/contention.hpp"
#include "model/sgd_iter/graph/packing.hpp"

namespace dlscale::model {

using ResourceId = Id<struct ResourceTag>;

/// Which of the tasks that wait for a resource is next. None is interrupted for another.
enum class Order {
  ready,   ///< the one that became ready first
  urgent,  ///< the one of the smallest Task::rank, of equals the one that became ready first
};

/// Something that serves tasks in the order in which they become ready, `servers` at a time: a
/// stream, a link, a copy engine (one server), a pool of threads (several).
struct Resource {
  std::string name;
  int servers = 1;
  Order order = Order::ready;
  std::optional<Packing> packing = {};  ///< only of one server that serves in order of readiness
  /// Of one server: how many tasks it has under way, one being served and the others chosen to
  /// follow in this order, whatever becomes ready meanwhile; ≥ 1. One that becomes ready while
  /// there is room is chosen at once.
  int window = 1;
  /// Of one server that does not pack: from when a task is chosen until it can be served, ≥ 0; one
  /// at a time, beside what is being served. Meanwhile it is one of the window.
  Seconds choice = {};
};

/// A piece of work. It starts when all tasks in `after` have finished and its resource is free;
/// without a resource, at once.
struct Task {
  Seconds work;  ///< its time with processor cores to itself, ≥ 0
  std::optional<ResourceId> resource;
  double cores = 0;  ///< processor cores it keeps busy while it runs
  std::vector<TaskId> after;
  int rank = 0;     ///< of a task of a resource that serves the most urgent
  Bytes size = {};  ///< of one of a resource that packs, which says how long that takes, not `work`
  /// Of computing, by kind of message; empty: messages do not concern it. See contend().
  std::vector<Contention> beside = {};
  std::size_t kind = 0;  ///< of a message that does not ride in a pack
  /// ≥ 0: from when its resource, of one server that does not pack, begins to serve it until its
  /// work begins. Meanwhile it keeps no cores busy and contends with nothing: its thread sleeps.
  Seconds meeting = {};
};

/// The tasks of some iterations and what they run on (MODEL 1.2). All tasks share `cores` processor
/// cores: while the running tasks ask for more, all that ask for any slow down in proportion, which
/// is what a fair scheduler does with threads that never sleep.
class TaskGraph {
 public:
  explicit TaskGraph(double cores = std::numeric_limits<double>::infinity());
  ResourceId add(Resource resource);
  /// `task.after` names tasks added before, so a graph has no cycle.
  TaskId add(Task task);
  /// From now on a task that `computing` serves and one that `messages` serves slow each other down
  /// while both run, as Task::beside of the one says of the kind of the other (progress.hpp). Both
  /// have one server.
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
  std::vector<Seconds> start;   ///< by task, of its meeting if it has one
  std::vector<Seconds> finish;  ///< by task
  [[nodiscard]] Seconds started(TaskId task) const { return start[task.index()]; }
  [[nodiscard]] Seconds finished(TaskId task) const { return finish[task.index()]; }
  [[nodiscard]] Seconds elapsed(TaskId task) const { return finished(task) - started(task); }
};

/// Runs the graph by events, in O((tasks + edges) log tasks). Equal graphs give equal timelines.
Timeline simulate(const TaskGraph& graph);

}  // namespace dlscale::model
