#include "model/sgd_iter/task_graph.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/merge.hpp"
#include "model/sgd_iter/progress.hpp"

namespace dlscale::model {

namespace {

void check_packing(const Resource& resource) {
  const Packing& packing = *resource.packing;
  EXPECT(resource.servers == 1 && resource.window == 1 && resource.order == Order::ready);
  EXPECT(resource.choice == Seconds());
  EXPECT(packing.cycle >= Seconds() && packing.vote >= Seconds() && packing.cores >= 0);
  EXPECT(packing.meeting >= Seconds());
  EXPECT(packing.time != nullptr);
}

}  // namespace

Seconds look_after_rest(Seconds last, Seconds ready, Seconds cycle) {
  EXPECT(ready >= last);
  if (cycle == Seconds()) return ready;
  const double cycles = std::max(1.0, std::ceil((ready - last) / cycle));
  return std::max(ready, last + cycles * cycle);
}

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
  EXPECT(task.meeting == Seconds() || (task.meeting > Seconds() && task.resource.has_value()));
  if (task.meeting > Seconds()) {
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

/// A resource that packs.
struct Packer {
  double last_look = 0;
  double free_from = 0;                        ///< when it was done with what it found then
  std::size_t found = 0;                       ///< of the messages of an iteration; 0: it rests
  bool busy = false;                           ///< looks, is about to look, or serves
  std::deque<std::vector<std::size_t>> packs;  ///< found at the last look, not served yet
};

/// A task that waits for a resource that serves the most urgent; of equals the one that came first.
struct Urgent {
  int rank;
  std::size_t arrival;
  std::size_t task;
  bool operator>(const Urgent& other) const {
    return rank != other.rank ? rank > other.rank : arrival > other.arrival;
  }
};
using MostUrgent = std::priority_queue<Urgent, std::vector<Urgent>, std::greater<>>;

/// Of a resource: a look, a vote or a choice, and a meeting.
constexpr std::size_t events_each = 3;

/// Tasks have the first numbers of what is under way, so that a look finds what became ready at the
/// same time.
class Simulator {
 public:
  explicit Simulator(const TaskGraph& graph);
  Timeline run();

 private:
  [[nodiscard]] const Task& task_of(std::size_t task) const { return graph_->tasks()[task]; }
  [[nodiscard]] const Resource& resource_of(std::size_t resource) const {
    return graph_->resources()[resource];
  }
  /// The numbers of what is under way and no task.
  [[nodiscard]] std::size_t look_of(std::size_t resource) const {
    return missing_.size() + events_each * resource;
  }
  [[nodiscard]] std::size_t vote_of(std::size_t resource) const { return look_of(resource) + 1; }
  /// Of one that does not pack, so that it has no votes.
  [[nodiscard]] std::size_t choice_of(std::size_t resource) const { return vote_of(resource); }
  [[nodiscard]] std::size_t meeting_of(std::size_t resource) const { return look_of(resource) + 2; }

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
  void serve_next(std::size_t resource);
  void wait(std::size_t task);
  [[nodiscard]] bool none_waits(std::size_t resource) const {
    return waiting_[resource].empty() && urgent_[resource].empty();
  }
  std::size_t take_waiting(std::size_t resource);
  [[nodiscard]] bool chooses_at_once(std::size_t resource) const {
    return resource_of(resource).choice == Seconds();
  }
  void begin_choice(std::size_t resource);
  void end_choice(std::size_t resource);
  [[nodiscard]] bool restless(std::size_t resource) const;
  void plan_look(std::size_t resource);
  [[nodiscard]] double next_look(const Packer& packer, const Packing& packing) const;
  void look(std::size_t resource);
  void vote(std::size_t resource);
  void find_packs(std::size_t resource);
  void serve_pack(std::size_t resource);

  const TaskGraph* graph_;
  std::vector<std::size_t> missing_;     // unfinished predecessors
  std::vector<std::size_t> successors_;  // of all tasks, one after the other
  std::vector<std::size_t> successor_ends_;
  std::vector<int> free_;                         // servers, by resource
  std::vector<std::deque<std::size_t>> waiting_;  // ready tasks in that order, by resource
  std::vector<MostUrgent> urgent_;                // those of a resource that serves the most urgent
  std::size_t arrivals_ = 0;                      // of these
  std::vector<std::deque<std::size_t>> chosen_;   // of them, to be served next, by resource
  std::vector<std::optional<std::size_t>> choosing_;  // what a choice is about, by resource
  std::vector<std::size_t> meeting_;                  // for which ranks meet, by resource
  std::vector<Packer> packers_;                       // by resource
  std::vector<std::vector<std::size_t>> riders_;  // by task: the others of its pack, if any pack
  std::size_t left_;                              // unfinished tasks
  Progress progress_;
  Timeline timeline_;
};

Simulator::Simulator(const TaskGraph& graph)
    : graph_(&graph),
      missing_(graph.tasks().size()),
      waiting_(graph.resources().size()),
      urgent_(graph.resources().size()),
      chosen_(graph.resources().size()),
      choosing_(graph.resources().size()),
      meeting_(graph.resources().size()),
      packers_(graph.resources().size()),
      left_(graph.tasks().size()),
      progress_(graph.cores()) {
  for (const Resource& resource : graph.resources()) free_.push_back(resource.servers);
  list_successors();
  const auto packs = [](const Resource& resource) { return resource.packing.has_value(); };
  if (std::ranges::any_of(graph.resources(), packs)) riders_.resize(graph.tasks().size());
  timeline_.start.resize(graph.tasks().size());
  timeline_.finish.resize(graph.tasks().size());
}

/// Counts those of each, then puts them in place.
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
  // Each entry moves on from where the list of its task begins to where it ends.
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    for (const TaskId before : tasks[task].after) {
      successors_[successor_ends_[before.index()]++] = task;
    }
  }
}

void Simulator::become_ready(std::size_t task) {
  if (!task_of(task).resource) return start(task);
  const std::size_t resource = task_of(task).resource->index();
  if (resource_of(resource).packing) {
    waiting_[resource].push_back(task);
    if (!packers_[resource].busy) plan_look(resource);
    return;
  }
  if (!chooses_at_once(resource)) {
    wait(task);
    return begin_choice(resource);
  }
  if (free_[resource] > 0) {
    --free_[resource];
    return start(task);
  }
  const auto under_way = chosen_[resource].size() + 1;
  const bool room = under_way < static_cast<std::size_t>(resource_of(resource).window);
  if (!room) return wait(task);
  chosen_[resource].push_back(task);
}

void Simulator::wait(std::size_t task) {
  const std::size_t resource = task_of(task).resource->index();
  if (resource_of(resource).order == Order::ready) return waiting_[resource].push_back(task);
  urgent_[resource].push({task_of(task).rank, arrivals_++, task});
}

bool Simulator::computes(std::size_t task) const {
  const auto& contenders = graph_->contenders();
  return contenders && task_of(task).resource == contenders->computing;
}

/// Whether it serves messages that computing contends with.
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
  if (what.meeting == Seconds()) return work(task);
  const std::size_t resource = what.resource->index();
  meeting_[resource] = task;
  progress_.begin(meeting_of(resource), what.meeting.si(), 0);
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
  const bool packs = resource_of(resource).packing.has_value();
  if (event == look_of(resource)) return look(resource);
  if (event == meeting_of(resource)) return packs ? vote(resource) : work(meeting_[resource]);
  if (!packs) return end_choice(resource);
  progress_.release(resource_of(resource).packing->cores);
  serve_pack(resource);
}

void Simulator::finish_task(std::size_t task) {
  progress_.release(task_of(task).cores);
  if (task_of(task).resource) serve_next(task_of(task).resource->index());
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

void Simulator::serve_next(std::size_t resource) {
  if (resource_of(resource).packing) return serve_pack(resource);
  auto& chosen = chosen_[resource];
  const bool at_once = chooses_at_once(resource);
  if (at_once && !none_waits(resource)) chosen.push_back(take_waiting(resource));
  if (chosen.empty()) {
    ++free_[resource];
  } else {
    const std::size_t task = chosen.front();
    chosen.pop_front();
    start(task);
  }
  if (!at_once) begin_choice(resource);
}

/// If none is under way, and there are tasks to choose from and room for one.
void Simulator::begin_choice(std::size_t resource) {
  if (choosing_[resource] || none_waits(resource)) return;
  const std::size_t served = free_[resource] > 0 ? 0 : 1;
  const auto window = static_cast<std::size_t>(resource_of(resource).window);
  if (served + chosen_[resource].size() >= window) return;
  choosing_[resource] = take_waiting(resource);
  progress_.begin(choice_of(resource), resource_of(resource).choice.si(), 0);
}

void Simulator::end_choice(std::size_t resource) {
  const std::size_t task = choosing_[resource].value();
  choosing_[resource].reset();
  if (free_[resource] > 0) {
    --free_[resource];
    start(task);
  } else {
    chosen_[resource].push_back(task);
  }
  begin_choice(resource);
}

std::size_t Simulator::take_waiting(std::size_t resource) {
  if (resource_of(resource).order == Order::urgent) {
    const std::size_t task = urgent_[resource].top().task;
    urgent_[resource].pop();
    return task;
  }
  const std::size_t task = waiting_[resource].front();
  waiting_[resource].pop_front();
  return task;
}

/// Whether looks that find nothing have to be followed, because they slow others down.
bool Simulator::restless(std::size_t resource) const {
  const auto& packing = resource_of(resource).packing;
  if (!packing || packing->vote == Seconds()) return false;
  return contends(resource) || (packing->cores > 0 && std::isfinite(graph_->cores()));
}

/// Those that find nothing and slow nobody down are left out.
void Simulator::plan_look(std::size_t resource) {
  Packer& packer = packers_[resource];
  const Packing& packing = *resource_of(resource).packing;
  packer.busy = true;
  progress_.begin_until(look_of(resource), std::max(now(), next_look(packer, packing)));
}

double Simulator::next_look(const Packer& packer, const Packing& packing) const {
  if (packer.found == 0) {
    return look_after_rest(Seconds(packer.last_look), Seconds(now()), packing.cycle).si();
  }
  const double next = std::max(packer.last_look + packing.cycle.si(), packer.free_from);
  const double period = std::max(packing.cycle, packing.looking()).si();
  if (now() <= next || period == 0) return next;
  return next + std::ceil((now() - next) / period) * period;
}

void Simulator::look(std::size_t resource) {
  const Packing& packing = *resource_of(resource).packing;
  packers_[resource].last_look = now();
  find_packs(resource);
  if (packing.meeting == Seconds()) return vote(resource);
  progress_.begin(meeting_of(resource), packing.meeting.si(), 0);
}

void Simulator::vote(std::size_t resource) {
  const Packing& packing = *resource_of(resource).packing;
  if (packing.vote == Seconds()) return serve_pack(resource);
  begin_message(vote_of(resource), packing.vote.si(), packing.cores, resource, packing.vote_kind);
}

void Simulator::find_packs(std::size_t resource) {
  auto& waiting = waiting_[resource];
  std::vector<Bytes> sizes;
  for (const std::size_t task : waiting) sizes.push_back(task_of(task).size);
  packers_[resource].found += waiting.size();
  for (const std::size_t count : fuse(sizes, resource_of(resource).packing->threshold)) {
    const auto rest = waiting.begin() + static_cast<std::ptrdiff_t>(count);
    packers_[resource].packs.emplace_back(waiting.begin(), rest);
    waiting.erase(waiting.begin(), rest);
  }
}

void Simulator::serve_pack(std::size_t resource) {
  Packer& packer = packers_[resource];
  if (packer.packs.empty()) {
    packer.busy = false;
    packer.free_from = now();
    if (packer.found >= resource_of(resource).packing->messages) packer.found = 0;
    const bool goes_on = packer.found > 0 && restless(resource);
    if (goes_on || !waiting_[resource].empty()) plan_look(resource);
    return;
  }
  const std::vector<std::size_t> pack = std::move(packer.packs.front());
  packer.packs.pop_front();
  Bytes size;
  for (const std::size_t task : pack) {
    timeline_.start[task] = Seconds(now());
    size += task_of(task).size;
  }
  riders_[pack.front()].assign(pack.begin() + 1, pack.end());
  const Packing& packing = *resource_of(resource).packing;
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
