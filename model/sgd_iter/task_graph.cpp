#include "model/sgd_iter/task_graph.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <queue>
#include <utility>

#include "core/error.hpp"

namespace dlscale::model {

TaskGraph::TaskGraph(double cores) : cores_(cores) {
  EXPECT(cores > 0);
}

ResourceId TaskGraph::add(Resource resource) {
  EXPECT(resource.servers >= 1);
  resources_.push_back(std::move(resource));
  return ResourceId(resources_.size() - 1);
}

TaskId TaskGraph::add(Task task) {
  EXPECT(task.work.si() >= 0 && std::isfinite(task.work.si()) && task.cores >= 0);
  EXPECT(!task.resource || task.resource->index() < resources_.size());
  for (const TaskId before : task.after) EXPECT(before.index() < tasks_.size());
  tasks_.push_back(std::move(task));
  return TaskId(tasks_.size() - 1);
}

namespace {

/// Tasks under way, the first to finish on top; ties by task.
class Finishes {
 public:
  void add(double when, std::size_t task) { heap_.emplace(when, task); }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] double when() const { return heap_.top().first; }
  std::size_t take() {
    const std::size_t task = heap_.top().second;
    heap_.pop();
    return task;
  }

 private:
  using Entry = std::pair<double, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
};

/// Because all tasks that use cores slow down by one factor, they share a clock of their own,
/// `pace_`, which runs at that factor: on it each of them takes just its work.
class Simulator {
 public:
  explicit Simulator(const TaskGraph& graph);
  Timeline run();

 private:
  void become_ready(std::size_t task);
  void start(std::size_t task);
  void finish(std::size_t task);
  std::size_t next();
  [[nodiscard]] double speed() const {
    return demand_ > graph_->cores() ? graph_->cores() / demand_ : 1;
  }
  [[nodiscard]] double next_sharing() const { return now_ + (sharing_.when() - pace_) / speed(); }

  const TaskGraph* graph_;
  std::vector<std::size_t> missing_;  // unfinished predecessors
  std::vector<std::vector<std::size_t>> successors_;
  std::vector<int> free_;                         // servers, by resource
  std::vector<std::deque<std::size_t>> waiting_;  // ready tasks, by resource
  Finishes alone_;                                // tasks without cores, by time
  Finishes sharing_;                              // tasks on cores, by pace
  std::size_t sharers_ = 0;
  double demand_ = 0;
  double now_ = 0;
  double pace_ = 0;
  Timeline timeline_;
};

Simulator::Simulator(const TaskGraph& graph)
    : graph_(&graph), successors_(graph.tasks().size()), waiting_(graph.resources().size()) {
  for (const Resource& resource : graph.resources()) free_.push_back(resource.servers);
  for (std::size_t task = 0; task < graph.tasks().size(); ++task) {
    const auto& after = graph.tasks()[task].after;
    missing_.push_back(after.size());
    for (const TaskId before : after) successors_[before.index()].push_back(task);
  }
  timeline_.start.resize(graph.tasks().size());
  timeline_.finish.resize(graph.tasks().size());
}

void Simulator::become_ready(std::size_t task) {
  const auto resource = graph_->tasks()[task].resource;
  if (!resource) return start(task);
  if (free_[resource->index()] == 0) {
    waiting_[resource->index()].push_back(task);
    return;
  }
  --free_[resource->index()];
  start(task);
}

void Simulator::start(std::size_t task) {
  const Task& what = graph_->tasks()[task];
  timeline_.start[task] = Seconds(now_);
  if (what.cores == 0) {
    alone_.add(now_ + what.work.si(), task);
    return;
  }
  sharing_.add(pace_ + what.work.si(), task);
  demand_ += what.cores;
  ++sharers_;
}

void Simulator::finish(std::size_t task) {
  const Task& what = graph_->tasks()[task];
  timeline_.finish[task] = Seconds(now_);
  if (what.cores > 0) {
    --sharers_;
    demand_ = sharers_ == 0 ? 0 : demand_ - what.cores;  // exactly 0, whatever was rounded before
  }
  if (what.resource) {
    auto& queue = waiting_[what.resource->index()];
    if (queue.empty()) {
      ++free_[what.resource->index()];
    } else {
      start(queue.front());
      queue.pop_front();
    }
  }
  for (const std::size_t successor : successors_[task]) {
    if (--missing_[successor] == 0) become_ready(successor);
  }
}

/// Moves both clocks to the next finish and returns that task.
std::size_t Simulator::next() {
  const bool from_sharing =
      !sharing_.empty() && (alone_.empty() || next_sharing() <= alone_.when());
  if (from_sharing) {
    now_ = std::max(now_, next_sharing());
    pace_ = sharing_.when();
    return sharing_.take();
  }
  pace_ += (alone_.when() - now_) * speed();
  now_ = alone_.when();
  return alone_.take();
}

Timeline Simulator::run() {
  for (std::size_t task = 0; task < missing_.size(); ++task) {
    if (missing_[task] == 0) become_ready(task);
  }
  while (!alone_.empty() || !sharing_.empty()) finish(next());
  return std::move(timeline_);
}

}  // namespace

Timeline simulate(const TaskGraph& graph) {
  return Simulator(graph).run();
}

}  // namespace dlscale::model
