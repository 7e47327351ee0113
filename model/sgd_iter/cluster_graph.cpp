#include "model/sgd_iter/cluster_graph.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <utility>

#include "core/error.hpp"

namespace dlscale::model {
namespace {

bool is_amount(double value) {
  return std::isfinite(value) && value >= 0;
}

}  // namespace

ServerId ClusterGraph::add_server(int servers) {
  EXPECT(servers >= 1 && servers_.size() < none);
  servers_.push_back(servers);
  return ServerId(servers_.size() - 1);
}

PoolId ClusterGraph::add_pool(double capacity) {
  EXPECT(is_amount(capacity) && capacity > 0 && pools_.size() < none);
  pools_.push_back(capacity);
  return PoolId(pools_.size() - 1);
}

void ClusterGraph::reserve(std::size_t tasks, std::size_t edges) {
  entries_.reserve(tasks);
  after_ends_.reserve(tasks);
  after_.reserve(edges);
}

TaskId ClusterGraph::add_entry(const Entry& entry, std::span<const TaskId> after) {
  EXPECT(entries_.size() + pools_.size() + 1 < none);  // all have numbers as events
  for (const TaskId before : after) {
    EXPECT(before.index() < entries_.size());
    after_.push_back(static_cast<std::uint32_t>(before.index()));
  }
  after_ends_.push_back(after_.size());
  entries_.push_back(entry);
  return TaskId(entries_.size() - 1);
}

TaskId ClusterGraph::add(const ClusterTask& task, std::span<const TaskId> after) {
  EXPECT(is_amount(task.work.si()) && is_amount(task.delay.si()) && is_amount(task.demand));
  EXPECT(!task.server || task.server->index() < servers_.size());
  EXPECT(!task.pool || task.pool->index() < pools_.size());
  Entry entry;
  entry.work = task.work.si();
  entry.delay = task.delay.si();
  if (task.server) entry.server = static_cast<std::uint32_t>(task.server->index());
  if (task.pool && task.demand > 0) {
    entry.pool = static_cast<std::uint32_t>(task.pool->index());
    entry.demand = task.demand;
  }
  return add_entry(entry, after);
}

TaskId ClusterGraph::add_flow(Bytes size, std::span<const LinkId> path,
                              std::span<const TaskId> after) {
  EXPECT(is_amount(size.si()) && !path.empty() && paths_.size() < none);
  for (const LinkId link : path) EXPECT(link.index() < links_.links());
  Entry entry;
  entry.work = size.si();
  entry.flows = true;
  entry.pool = static_cast<std::uint32_t>(paths_.size());
  paths_.push_back({path_links_.size(), path_links_.size() + path.size()});
  path_links_.insert(path_links_.end(), path.begin(), path.end());
  return add_entry(entry, after);
}

/// Events have numbers: first all tasks, then pools, of what they serve the next that is done,
/// then the links together, likewise. Of several at once the least number is first.
class ClusterSimulator {
 public:
  explicit ClusterSimulator(const ClusterGraph& graph);
  Timeline run();

 private:
  using Entry = ClusterGraph::Entry;
  static constexpr std::uint32_t none = ClusterGraph::none;

  struct Event {
    double when;
    std::uint32_t number;
    /// Of a task: whether its delay is over, or its work; else only the newest event of a pool or
    /// of the links counts.
    std::uint32_t generation;
    bool operator>(const Event& other) const {
      return when != other.when ? when > other.when : number > other.number;
    }
  };
  static constexpr std::uint32_t delay_over = 0;
  static constexpr std::uint32_t work_done = 1;

  /// A clock of its own, `pace`, runs at the factor by which all slow down.
  struct Pool {
    double capacity = 0;
    double wanted = 0;
    double pace = 0;
    double since = 0;  ///< when pace was that
    std::uint32_t running = 0;
    std::uint32_t generation = 0;
    /// When each is done, by that clock, and its number; the first on top.
    using Done = std::pair<double, std::uint32_t>;
    std::priority_queue<Done, std::vector<Done>, std::greater<>> done;
    [[nodiscard]] double speed() const { return wanted > capacity ? capacity / wanted : 1; }
    void move(double to) {
      pace += (to - since) * speed();
      since = to;
    }
  };
  /// Tasks that wait for a server, the first to be served first.
  struct Server {
    int free = 1;
    std::uint32_t first = none;
    std::uint32_t last = none;
  };

  [[nodiscard]] const Entry& entry_of(std::uint32_t task) const { return graph_->entries_[task]; }
  [[nodiscard]] std::uint32_t tasks() const {
    return static_cast<std::uint32_t>(graph_->entries_.size());
  }
  void list_successors();
  [[nodiscard]] std::uint32_t number_of_pool(std::uint32_t pool) const { return tasks() + pool; }
  [[nodiscard]] std::uint32_t number_of_links() const {
    return number_of_pool(static_cast<std::uint32_t>(pools_.size()));
  }
  void become_ready(std::uint32_t task);
  void start(std::uint32_t task);
  void work(std::uint32_t task);
  void begin_in_pool(std::uint32_t task);
  void begin_flow(std::uint32_t task);
  void plan(std::uint32_t pool);
  void plan_links();
  void happen(const Event& event);
  void finish(std::uint32_t task);
  void finish_all();

  const ClusterGraph* graph_;
  std::vector<std::uint32_t> missing_;     // unfinished predecessors, by task
  std::vector<std::uint32_t> successors_;  // of all tasks, one after the other
  std::vector<std::size_t> successor_ends_;
  std::vector<std::uint32_t> behind_;  // by task that waits for a server: the next that does
  std::vector<Server> servers_;
  std::vector<Pool> pools_;
  FairLinks links_;
  std::uint32_t links_generation_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<std::uint32_t> done_;  // now, to be finished in this order
  std::size_t left_;
  double now_ = 0;
  Timeline timeline_;
};

ClusterSimulator::ClusterSimulator(const ClusterGraph& graph)
    : graph_(&graph),
      missing_(graph.entries_.size()),
      behind_(graph.servers_.empty() ? 0 : graph.entries_.size(), none),
      links_(graph.links_),
      left_(graph.entries_.size()) {
  for (const int servers : graph.servers_) servers_.push_back(Server{servers, none, none});
  for (const double capacity : graph.pools_) {
    pools_.emplace_back();
    pools_.back().capacity = capacity;
  }
  list_successors();
  timeline_.start.resize(tasks());
  timeline_.finish.resize(tasks());
}

/// Counts those of each, then puts them in place.
void ClusterSimulator::list_successors() {
  const std::vector<std::uint32_t>& after = graph_->after_;
  std::vector<std::size_t> place(tasks() + 1);
  for (const std::uint32_t before : after) ++place[before + 1];
  for (std::size_t task = 0; task < tasks(); ++task) place[task + 1] += place[task];
  successors_.resize(after.size());
  std::size_t edge = 0;
  for (std::size_t task = 0; task < tasks(); ++task) {
    missing_[task] = static_cast<std::uint32_t>(graph_->after_ends_[task] - edge);
    for (; edge < graph_->after_ends_[task]; ++edge) {
      successors_[place[after[edge]]++] = static_cast<std::uint32_t>(task);
    }
  }
  place.pop_back();
  successor_ends_ = std::move(place);  // each moved on from where its list begins to where it ends
}

void ClusterSimulator::become_ready(std::uint32_t task) {
  const std::uint32_t number = entry_of(task).server;
  if (number == none) return start(task);
  Server& server = servers_[number];
  if (server.free > 0) {
    --server.free;
    return start(task);
  }
  if (server.first == none) {
    server.first = task;
  } else {
    behind_[server.last] = task;
  }
  server.last = task;
}

void ClusterSimulator::start(std::uint32_t task) {
  timeline_.start[task] = Seconds(now_);
  const double delay = entry_of(task).delay;
  if (delay == 0) return work(task);
  events_.push({now_ + delay, task, delay_over});
}

void ClusterSimulator::work(std::uint32_t task) {
  const Entry& entry = entry_of(task);
  if (entry.work == 0) {
    done_.push_back(task);
  } else if (entry.flows) {
    begin_flow(task);
  } else if (entry.pool != none) {
    begin_in_pool(task);
  } else {
    events_.push({now_ + entry.work, task, work_done});
  }
}

void ClusterSimulator::begin_in_pool(std::uint32_t task) {
  const Entry& entry = entry_of(task);
  Pool& pool = pools_[entry.pool];
  pool.move(now_);
  pool.done.emplace(pool.pace + entry.work, task);
  pool.wanted += entry.demand;
  ++pool.running;
  plan(entry.pool);
}

void ClusterSimulator::begin_flow(std::uint32_t task) {
  const Entry& entry = entry_of(task);
  const auto [begin, end] = graph_->paths_[entry.pool];
  links_.begin(task, Bytes(entry.work), std::span(graph_->path_links_).subspan(begin, end - begin),
               Seconds(now_));
  plan_links();
}

void ClusterSimulator::plan(std::uint32_t pool) {
  Pool& what = pools_[pool];
  ++what.generation;
  if (what.done.empty()) return;
  const double left = std::max(0.0, what.done.top().first - what.pace);
  events_.push({now_ + left / what.speed(), number_of_pool(pool), what.generation});
}

void ClusterSimulator::plan_links() {
  const double next = links_.next().si();
  ++links_generation_;
  if (std::isinf(next)) return;
  events_.push({std::max(now_, next), number_of_links(), links_generation_});
}

void ClusterSimulator::happen(const Event& event) {
  if (event.number < tasks()) {
    now_ = event.when;
    if (event.generation == delay_over) return work(event.number);
    return done_.push_back(event.number);
  }
  if (event.number == number_of_links()) {
    if (event.generation != links_generation_) return;
    now_ = event.when;
    done_.push_back(links_.end());
    return plan_links();
  }
  const std::uint32_t number = event.number - tasks();
  Pool& pool = pools_[number];
  if (event.generation != pool.generation) return;
  now_ = event.when;
  const auto [pace, task] = pool.done.top();
  pool.done.pop();
  pool.pace = pace;  // exactly, whatever was rounded
  pool.since = now_;
  pool.wanted = --pool.running == 0 ? 0 : pool.wanted - entry_of(task).demand;
  plan(number);
  done_.push_back(task);
}

void ClusterSimulator::finish(std::uint32_t task) {
  timeline_.finish[task] = Seconds(now_);
  --left_;
  if (entry_of(task).server != none) {
    Server& server = servers_[entry_of(task).server];
    if (server.first == none) {
      ++server.free;
    } else {
      const std::uint32_t next = server.first;
      server.first = next == server.last ? none : behind_[next];
      start(next);
    }
  }
  const std::size_t begin = task == 0 ? 0 : successor_ends_[task - 1];
  for (std::size_t i = begin; i < successor_ends_[task]; ++i) {
    if (--missing_[successors_[i]] == 0) become_ready(successors_[i]);
  }
}

/// What is done now, and what needs no time after it.
void ClusterSimulator::finish_all() {
  for (std::size_t i = 0; i < done_.size(); ++i) finish(done_[i]);
  done_.clear();
}

Timeline ClusterSimulator::run() {
  for (std::uint32_t task = 0; task < tasks(); ++task) {
    if (missing_[task] == 0) become_ready(task);
  }
  finish_all();
  while (left_ > 0) {
    EXPECT(!events_.empty());
    const Event event = events_.top();
    events_.pop();
    happen(event);
    finish_all();
  }
  return std::move(timeline_);
}

Timeline simulate(const ClusterGraph& graph) {
  return ClusterSimulator(graph).run();
}

}  // namespace dlscale::model
