#include "model/sgd_iter/graph/task_graph.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "model/sgd_iter/graph/dispatcher.hpp"
#include "model/sgd_iter/graph/iteration_parts.hpp"

namespace dlscale::model {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// The activities in progress, by event number, and their ends. Time starts at 0.
///
/// Activities that keep processor cores busy share `cores` of them; while they want more, each runs
/// at
///   speed = cores / Σ wanted.
/// One factor holds for all, so they share a clock, `pace_`, which runs at that factor: on it each
/// takes exactly its work.
///
/// Computing and a message (begin_computing(), begin_message(); one of each at a time) also slow
/// each other down while both run. If their contention was measured with only these two, of a and b
/// cores, on a rank, they run at
///   speed / (cores / max(cores, a + b)) / s_c  and  / s_m
/// because s_c and s_m include the cost of sharing cores between these two, but not with others.
class Progress {
 public:
  explicit Progress(double cores) : cores_(cores) {}

  /// `work` ≥ 0 is its time with enough cores; 0 cores: it needs none.
  void begin(std::size_t event, double work, double cores);
  /// Begins something that ends at `when` ≥ now().
  void begin_until(std::size_t event, double when) { alone_.emplace(when, event); }
  /// `beside`, by kind of message, must outlive it; empty: messages do not slow it.
  void begin_computing(std::size_t event, double work, double cores,
                       std::span<const Contention> beside);
  /// Begins a message of that kind.
  void begin_message(std::size_t event, double work, double cores, std::size_t kind);

  /// Advances to the next end and returns its event. Of simultaneous ends computing is first, then
  /// the message, events with cores, events without; of these by number. Requires something in
  /// progress. Keeps its cores until release().
  std::size_t next();
  /// Frees the cores of an event that next() returned.
  void release(double cores);

  [[nodiscard]] double now() const { return now_; }

 private:
  /// Computing, or a message, with its remaining time alone.
  struct Contender {
    std::size_t event = 0;
    double left = 0;
    double cores = 0;
    std::span<const Contention> beside;  ///< of computing
    std::size_t kind = 0;                ///< of a message
  };
  using Contenders = std::optional<Contender>;

  void want(double cores);
  [[nodiscard]] double speed(double wanted) const { return wanted > cores_ ? cores_ / wanted : 1; }
  [[nodiscard]] double speed() const { return speed(wanted_); }
  [[nodiscard]] double next_sharing() const {
    return now_ + (sharing_.top().first - pace_) / speed();
  }
  [[nodiscard]] const Contention* contention() const;
  [[nodiscard]] double rate(const Contender& one, double Contention::*slowdown) const;
  [[nodiscard]] double done(const Contenders& one, double Contention::*slowdown) const;
  void move_contenders(double to);
  std::size_t take(Contenders& one, double when);

  /// End, on the clock of its kind, and event number; the first on top.
  using Entry = std::pair<double, std::size_t>;
  using Finishes = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

  double cores_;
  Finishes alone_;    ///< without cores, by time
  Finishes sharing_;  ///< with cores, by pace
  Contenders computing_;
  Contenders message_;
  std::size_t sharers_ = 0;
  double wanted_ = 0;
  double now_ = 0;
  double pace_ = 0;
};

void Progress::want(double cores) {
  if (cores == 0) return;
  wanted_ += cores;
  ++sharers_;
}

void Progress::release(double cores) {
  if (cores == 0) return;
  --sharers_;
  wanted_ = sharers_ == 0 ? 0 : wanted_ - cores;  // exactly 0, without rounding errors
}

void Progress::begin(std::size_t event, double work, double cores) {
  if (cores == 0) {
    alone_.emplace(now_ + work, event);
    return;
  }
  sharing_.emplace(pace_ + work, event);
  want(cores);
}

void Progress::begin_computing(std::size_t event, double work, double cores,
                               std::span<const Contention> beside) {
  EXPECT(!computing_);
  computing_ = Contender{event, work, cores, beside, 0};
  want(cores);
}

void Progress::begin_message(std::size_t event, double work, double cores, std::size_t kind) {
  EXPECT(!message_);
  message_ = Contender{event, work, cores, {}, kind};
  want(cores);
}

/// Null where there is none.
const Contention* Progress::contention() const {
  if (!computing_ || !message_ || computing_->beside.empty()) return nullptr;
  EXPECT(message_->kind < computing_->beside.size());
  return &computing_->beside[message_->kind];
}

double Progress::rate(const Contender& one, double Contention::*slowdown) const {
  const double shared = one.cores == 0 ? 1 : speed();
  const Contention* both = contention();
  if (both == nullptr) return shared;
  const double measured = one.cores == 0 ? 1 : speed(computing_->cores + message_->cores);
  return shared / measured / (both->*slowdown);
}

double Progress::done(const Contenders& one, double Contention::*slowdown) const {
  return one ? now_ + one->left / rate(*one, slowdown) : never;
}

/// Advances both contenders; call before the clocks advance.
void Progress::move_contenders(double to) {
  const auto move = [&](Contenders& one, double per_second) {
    if (one) one->left = std::max(0.0, one->left - (to - now_) * per_second);
  };
  const double computed = computing_ ? rate(*computing_, &Contention::compute) : 0;
  const double sent = message_ ? rate(*message_, &Contention::messages) : 0;
  move(computing_, computed);
  move(message_, sent);
}

std::size_t Progress::take(Contenders& one, double when) {
  move_contenders(when);
  pace_ += (when - now_) * speed();
  now_ = when;
  const std::size_t event = one->event;
  one.reset();
  return event;
}

std::size_t Progress::next() {
  const double computed = done(computing_, &Contention::compute);
  const double sent = done(message_, &Contention::messages);
  const double shared = sharing_.empty() ? never : next_sharing();
  const double other = alone_.empty() ? never : alone_.top().first;
  const double first = std::min({computed, sent, shared, other});
  EXPECT(first < never);
  if (computed == first) return take(computing_, computed);
  if (sent == first) return take(message_, sent);
  const bool from_sharing = shared == first;
  const double when = from_sharing ? std::max(now_, shared) : other;
  move_contenders(when);
  pace_ = from_sharing ? sharing_.top().first : pace_ + (when - now_) * speed();
  now_ = when;
  Finishes& finishes = from_sharing ? sharing_ : alone_;
  const std::size_t event = finishes.top().second;
  finishes.pop();
  return event;
}

void check_packing(const Resource& resource) {
  const Packing& packing = *resource.packing;
  EXPECT(resource.servers == 1 && resource.window == 1 && resource.order == Order::ready);
  EXPECT(resource.choice == Seconds());
  EXPECT(packing.cycle >= Seconds() && packing.vote >= Seconds() && packing.cores >= 0);
  EXPECT(packing.barrier >= Seconds());
  EXPECT(packing.time != nullptr);
}

}  // namespace

TaskGraph::TaskGraph(double cores) : cores_(cores) {
  EXPECT(cores > 0);
}

ResourceId TaskGraph::add(Resource resource) {
  EXPECT(resource.servers >= 1 && resource.window >= 1);
  EXPECT(resource.servers == 1 || (resource.window == 1 && resource.choice == Seconds()));
  EXPECT(resource.choice >= Seconds());
  if (resource.packing) check_packing(resource);
  resources_.push_back(std::move(resource));
  return ResourceId(resources_.size() - 1);
}

TaskId TaskGraph::add(Task task) {
  EXPECT(task.work.si() >= 0 && std::isfinite(task.work.si()) && task.cores >= 0);
  EXPECT(!task.resource || task.resource->index() < resources_.size());
  EXPECT(task.barrier == Seconds() || (task.barrier > Seconds() && task.resource.has_value()));
  if (task.barrier > Seconds()) {
    const Resource& resource = resources_[task.resource->index()];
    EXPECT(resource.servers == 1 && !resource.packing);
  }
  for (const TaskId before : task.after) EXPECT(before.index() < tasks_.size());
  tasks_.push_back(std::move(task));
  return TaskId(tasks_.size() - 1);
}

void TaskGraph::contend(ResourceId computing, ResourceId messages) {
  EXPECT(computing != messages);
  for (const ResourceId resource : {computing, messages}) {
    EXPECT(resource.index() < resources_.size() && resources_[resource.index()].servers == 1);
  }
  contenders_ = Contenders{computing, messages};
}

namespace {

/// Event numbers of a resource: a look, a vote or a choice, and a barrier.
constexpr std::size_t events_each = 3;

/// Tasks have the lowest event numbers, so that a look finds tasks that become ready at the same
/// time.
class Simulator {
 public:
  explicit Simulator(const TaskGraph& graph);
  Timeline run();

 private:
  [[nodiscard]] const Task& task_of(std::size_t task) const { return graph_->tasks()[task]; }
  [[nodiscard]] const Resource& resource_of(std::size_t resource) const {
    return graph_->resources()[resource];
  }
  /// Event numbers beyond those of tasks.
  [[nodiscard]] std::size_t look_of(std::size_t resource) const {
    return missing_.size() + events_each * resource;
  }
  [[nodiscard]] std::size_t vote_of(std::size_t resource) const { return look_of(resource) + 1; }
  /// The choice of a resource that does not pack, in place of votes.
  [[nodiscard]] std::size_t choice_of(std::size_t resource) const { return vote_of(resource); }
  [[nodiscard]] std::size_t barrier_of(std::size_t resource) const { return look_of(resource) + 2; }

  void list_successors();
  void become_ready(std::size_t task);
  [[nodiscard]] double now() const { return progress_.now(); }
  [[nodiscard]] bool computes(std::size_t task) const;
  [[nodiscard]] bool contends(std::size_t resource) const;
  void begin_message(std::size_t event, double work, double cores, std::size_t resource,
                     std::size_t kind);
  void start(std::size_t task);
  void work(std::size_t task);
  void finish(std::size_t event);
  void finish_task(std::size_t task);
  void end(std::size_t task);
  [[nodiscard]] bool restless(std::size_t resource) const;
  void begin(std::size_t resource, const Beginnings& all);
  void begin(std::size_t resource, const Beginning& what);
  void begin_vote(std::size_t resource);
  void begin_pack(std::size_t resource);

  const TaskGraph* graph_;
  std::vector<std::size_t> missing_;     // unfinished predecessors
  std::vector<std::size_t> successors_;  // of all tasks, concatenated
  std::vector<std::size_t> successor_ends_;
  std::vector<Dispatcher> dispatchers_;           // by resource
  std::vector<std::size_t> barrier_;              // task whose ranks meet, by resource
  std::vector<std::vector<std::size_t>> riders_;  // by task: the others of its pack, if any
  std::size_t left_;                              // unfinished tasks
  Progress progress_;
  Timeline timeline_;
};

Simulator::Simulator(const TaskGraph& graph)
    : graph_(&graph),
      missing_(graph.tasks().size()),
      barrier_(graph.resources().size()),
      left_(graph.tasks().size()),
      progress_(graph.cores()) {
  for (std::size_t i = 0; i < graph.resources().size(); ++i) {
    dispatchers_.emplace_back(resource_of(i), restless(i));
  }
  list_successors();
  const auto packs = [](const Resource& resource) { return resource.packing.has_value(); };
  if (std::ranges::any_of(graph.resources(), packs)) riders_.resize(graph.tasks().size());
  timeline_.start.resize(graph.tasks().size());
  timeline_.finish.resize(graph.tasks().size());
}

/// Counts the successors of each task, then places them.
void Simulator::list_successors() {
  const std::vector<Task>& tasks = graph_->tasks();
  successor_ends_.resize(tasks.size() + 1);
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    missing_[task] = tasks[task].after.size();
    for (const TaskId before : tasks[task].after) ++successor_ends_[before.index() + 1];
  }
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    successor_ends_[task + 1] += successor_ends_[task];
  }
  successors_.resize(successor_ends_.back());
  // Each entry moves from the beginning to the end of its task's list.
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    for (const TaskId before : tasks[task].after) {
      successors_[successor_ends_[before.index()]++] = task;
    }
  }
}

void Simulator::become_ready(std::size_t task) {
  const Task& what = task_of(task);
  if (!what.resource) return start(task);
  const std::size_t resource = what.resource->index();
  begin(resource, dispatchers_[resource].become_ready({task, what.rank, what.size}, now()));
}

void Simulator::begin(std::size_t resource, const Beginnings& all) {
  for (const Beginning& one : all) begin(resource, one);
}

void Simulator::begin(std::size_t resource, const Beginning& what) {
  switch (what.what) {
    case Beginning::What::task:
      return start(what.task);
    case Beginning::What::pack:
      return begin_pack(resource);
    case Beginning::What::look:
      return progress_.begin_until(look_of(resource), what.until);
    case Beginning::What::choice:
      return progress_.begin(choice_of(resource), resource_of(resource).choice.si(), 0);
    case Beginning::What::barrier:
      return progress_.begin(barrier_of(resource), resource_of(resource).packing->barrier.si(), 0);
    case Beginning::What::vote:
      return begin_vote(resource);
  }
  fail_expectation("what begins is one of the enumeration");
}

bool Simulator::computes(std::size_t task) const {
  const auto& contenders = graph_->contenders();
  return contenders && task_of(task).resource == contenders->computing;
}

/// Whether the resource serves messages that computing contends with.
bool Simulator::contends(std::size_t resource) const {
  const auto& contenders = graph_->contenders();
  return contenders && contenders->messages.index() == resource;
}

void Simulator::begin_message(std::size_t event, double work, double cores, std::size_t resource,
                              std::size_t kind) {
  if (contends(resource)) return progress_.begin_message(event, work, cores, kind);
  progress_.begin(event, work, cores);
}

void Simulator::start(std::size_t task) {
  timeline_.start[task] = Seconds(now());
  const Task& what = task_of(task);
  if (what.barrier == Seconds()) return work(task);
  const std::size_t resource = what.resource->index();
  barrier_[resource] = task;
  progress_.begin(barrier_of(resource), what.barrier.si(), 0);
}

void Simulator::work(std::size_t task) {
  const Task& what = task_of(task);
  if (computes(task)) {
    return progress_.begin_computing(task, what.work.si(), what.cores, what.beside);
  }
  if (!what.resource) return progress_.begin(task, what.work.si(), what.cores);
  begin_message(task, what.work.si(), what.cores, what.resource->index(), what.kind);
}

void Simulator::finish(std::size_t event) {
  if (event < missing_.size()) return finish_task(event);
  const std::size_t resource = (event - missing_.size()) / events_each;
  Dispatcher& dispatcher = dispatchers_[resource];
  const auto& packing = resource_of(resource).packing;
  if (event == look_of(resource)) return begin(resource, dispatcher.looked(now()));
  if (event == barrier_of(resource)) {
    return packing ? begin(resource, dispatcher.met(now())) : work(barrier_[resource]);
  }
  if (!packing) return begin(resource, dispatcher.chosen());
  progress_.release(packing->cores);
  begin(resource, dispatcher.voted(now()));
}

void Simulator::finish_task(std::size_t task) {
  progress_.release(task_of(task).cores);
  if (task_of(task).resource) {
    const std::size_t resource = task_of(task).resource->index();
    begin(resource, dispatchers_[resource].served(now()));
  }
  end(task);
  if (riders_.empty()) return;
  for (const std::size_t rider : riders_[task]) end(rider);
}

void Simulator::end(std::size_t task) {
  timeline_.finish[task] = Seconds(now());
  --left_;
  const std::size_t begin = task == 0 ? 0 : successor_ends_[task - 1];
  for (std::size_t i = begin; i < successor_ends_[task]; ++i) {
    if (--missing_[successors_[i]] == 0) become_ready(successors_[i]);
  }
}

/// Whether looks that find nothing must be simulated, because they slow others down.
bool Simulator::restless(std::size_t resource) const {
  const auto& packing = resource_of(resource).packing;
  if (!packing) return false;
  return contends(resource) || (packing->cores > 0 && std::isfinite(graph_->cores()));
}

void Simulator::begin_vote(std::size_t resource) {
  const Packing& packing = *resource_of(resource).packing;
  begin_message(vote_of(resource), packing.vote.si(), packing.cores, resource, packing.vote_kind);
}

void Simulator::begin_pack(std::size_t resource) {
  const Packing& packing = *resource_of(resource).packing;
  const std::span<const std::size_t> pack = dispatchers_[resource].packed();
  const Bytes size = dispatchers_[resource].packed_size();
  for (const std::size_t task : pack) timeline_.start[task] = Seconds(now());
  riders_[pack.front()].assign(pack.begin() + 1, pack.end());
  begin_message(pack.front(), packing.time(size).si(), task_of(pack.front()).cores, resource,
                packing.kind ? packing.kind(size) : 0);
}

Timeline Simulator::run() {
  for (std::size_t task = 0; task < missing_.size(); ++task) {
    if (missing_[task] == 0) become_ready(task);
  }
  while (left_ > 0) finish(progress_.next());
  return std::move(timeline_);
}

}  // namespace

Timeline simulate(const TaskGraph& graph) {
  return Simulator(graph).run();
}

}  // namespace dlscale::model
