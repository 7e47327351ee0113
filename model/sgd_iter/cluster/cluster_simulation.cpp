// Runs a ClusterGraph by events.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "model/sgd_iter/cluster/cluster_graph.hpp"
#include "model/sgd_iter/graph/dispatcher.hpp"

namespace dlscale::model {

/// Event numbers: first all tasks, then pools (their next end), then the links together (likewise),
/// then events of lines beside tasks. So a look finds tasks that become ready at the same time. Of
/// simultaneous events the least number is first.
class ClusterSimulator {
 public:
  explicit ClusterSimulator(const ClusterGraph& graph);
  Timeline run();

 private:
  using Entry = ClusterGraph::Entry;
  using Kind = ClusterGraph::Kind;
  static constexpr std::uint32_t none = ClusterGraph::none;

  /// Events of a line besides messages, and a message's part in a pool.
  enum class LineEvent : std::uint8_t { look, choice, barrier, vote, part };
  static constexpr std::uint32_t line_events = 5;

  struct Event {
    double when;
    std::uint32_t number;
    /// For a task: whether its delay is over, or its work. For a pool or the links only the newest
    /// generation counts.
    std::uint32_t generation;
    bool operator>(const Event& other) const {
      return when != other.when ? when > other.when : number > other.number;
    }
  };
  static constexpr std::uint32_t delay_over = 0;
  static constexpr std::uint32_t work_done = 1;

  /// A pool with a clock of its own, `pace`, which runs at the common slow-down.
  struct Pool {
    double capacity = 0;
    double wanted = 0;
    double pace = 0;
    double since = 0;  ///< time of `pace`
    std::uint32_t running = 0;
    std::uint32_t generation = 0;
    /// End of each, on that clock, and number; the first on top.
    using Done = std::pair<double, std::uint32_t>;
    std::priority_queue<Done, std::vector<Done>, std::greater<>> done;
    [[nodiscard]] double speed() const { return wanted > capacity ? capacity / wanted : 1; }
    void move(double to) {
      pace += (to - since) * speed();
      since = to;
    }
  };
  /// A line serves one at a time: a message, a pack or a vote.
  struct Line {
    Dispatcher dispatcher;
    std::uint32_t first = none;    ///< first message in progress; none: a vote
    double demand = 0;             ///< demand of each pool
    std::uint32_t pools_left = 0;  ///< pools in which it is not done
  };
  /// Waiting tasks of a server, in order of service.
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
  [[nodiscard]] std::uint32_t number_of_line(std::size_t line, LineEvent event) const {
    return number_of_links() + 1 + static_cast<std::uint32_t>(line) * line_events +
           static_cast<std::uint32_t>(event);
  }
  [[nodiscard]] const ClusterGraph::Line& line_of(std::size_t line) const {
    return graph_->lines_[line];
  }
  void become_ready(std::uint32_t task);
  void begin(std::size_t line, const Beginnings& all);
  void begin(std::size_t line, const Beginning& what);
  void begin_pack(std::size_t line);
  void travel(std::size_t line, std::uint32_t first, double work, double demand);
  void arrive(std::size_t line);
  void happen_in(std::size_t line, LineEvent event);
  [[nodiscard]] double demand_of(std::uint32_t number) const;
  void start(std::uint32_t task);
  void work(std::uint32_t task);
  void begin_in_pool(std::uint32_t number, std::uint32_t pool, double work);
  void begin_flow(std::uint32_t task);
  void plan(std::uint32_t pool);
  void plan_links();
  void happen(const Event& event);
  void finish(std::uint32_t task);
  void end(std::uint32_t task);
  void finish_all();

  const ClusterGraph* graph_;
  std::vector<std::uint32_t> missing_;     // unfinished predecessors, by task
  std::vector<std::uint32_t> successors_;  // of all tasks, concatenated
  std::vector<std::size_t> successor_ends_;
  std::vector<std::uint32_t> behind_;  // by waiting task: the next in its server's queue
  std::vector<Server> servers_;
  std::vector<Pool> pools_;
  std::vector<Line> lines_;
  std::vector<std::vector<std::uint32_t>> riders_;  // by message: the others of its pack
  MaxMinFairLinks links_;
  std::uint32_t links_generation_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<std::uint32_t> done_;  // finish now, in this order
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
  for (const ClusterGraph::Line& line : graph.lines_) {
    const auto& packing = line.resource.packing;
    const bool restless = packing && packing->cores > 0 && !line.pools.empty();
    lines_.push_back({Dispatcher(line.resource, restless)});
    if (packing) riders_.resize(graph.places_.size());
  }
  list_successors();
  timeline_.start.resize(tasks());
  timeline_.finish.resize(tasks());
}

/// Counts the successors of each task, then places them.
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
  successor_ends_ = std::move(place);  // each has moved from the beginning to the end of its list
}

void ClusterSimulator::become_ready(std::uint32_t task) {
  if (entry_of(task).kind == Kind::message) {
    const auto& [line, rank, size] = graph_->places_[entry_of(task).pool];
    return begin(line, lines_[line].dispatcher.become_ready({task, rank, size}, now_));
  }
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
  if (entry.kind == Kind::message) {
    travel(graph_->places_[entry.pool].line, task, entry.work, entry.demand);
  } else if (entry.work == 0) {
    done_.push_back(task);
  } else if (entry.kind == Kind::flow) {
    begin_flow(task);
  } else if (entry.pool != none) {
    begin_in_pool(task, entry.pool, entry.work);
  } else {
    events_.push({now_ + entry.work, task, work_done});
  }
}

void ClusterSimulator::begin_in_pool(std::uint32_t number, std::uint32_t pool, double work) {
  Pool& what = pools_[pool];
  what.move(now_);
  what.done.emplace(what.pace + work, number);
  what.wanted += demand_of(number);
  ++what.running;
  plan(pool);
}

/// Demand of a task, or of the activity of a line.
double ClusterSimulator::demand_of(std::uint32_t number) const {
  if (number < tasks()) return entry_of(number).demand;
  return lines_[(number - number_of_links() - 1) / line_events].demand;
}

void ClusterSimulator::begin(std::size_t line, const Beginnings& all) {
  for (const Beginning& one : all) begin(line, one);
}

void ClusterSimulator::begin(std::size_t line, const Beginning& what) {
  const Resource& resource = line_of(line).resource;
  const auto until = [&](LineEvent event, double when) {
    events_.push({when, number_of_line(line, event), 0});
  };
  switch (what.what) {
    case Beginning::What::task:
      return start(static_cast<std::uint32_t>(what.task));
    case Beginning::What::pack:
      return begin_pack(line);
    case Beginning::What::look:
      return until(LineEvent::look, what.until);
    case Beginning::What::choice:
      return until(LineEvent::choice, now_ + resource.choice.si());
    case Beginning::What::barrier:
      return until(LineEvent::barrier, now_ + resource.packing->barrier.si());
    case Beginning::What::vote:
      return travel(line, none, resource.packing->vote.si(), resource.packing->cores);
  }
  fail_expectation("what begins is one of the enumeration");
}

void ClusterSimulator::begin_pack(std::size_t line) {
  const Dispatcher& dispatcher = lines_[line].dispatcher;
  const auto first = static_cast<std::uint32_t>(dispatcher.packed().front());
  std::vector<std::uint32_t>& riders = riders_[entry_of(first).pool];
  for (const std::size_t task : dispatcher.packed()) {
    timeline_.start[task] = Seconds(now_);
    if (task != first) riders.push_back(static_cast<std::uint32_t>(task));
  }
  const Seconds time = line_of(line).resource.packing->time(dispatcher.packed_size());
  travel(line, first, time.si(), entry_of(first).demand);
}

/// Starts service of a line in all of its pools.
void ClusterSimulator::travel(std::size_t line, std::uint32_t first, double work, double demand) {
  Line& what = lines_[line];
  const std::vector<PoolId>& pools = line_of(line).pools;
  what.first = first;
  what.demand = demand;
  if (work > 0 && demand > 0 && !pools.empty()) {
    what.pools_left = static_cast<std::uint32_t>(pools.size());
    const std::uint32_t number = number_of_line(line, LineEvent::part);
    for (const PoolId pool : pools) {
      begin_in_pool(number, static_cast<std::uint32_t>(pool.index()), work);
    }
  } else if (first == none) {
    events_.push({now_ + work, number_of_line(line, LineEvent::vote), 0});
  } else if (work == 0) {
    done_.push_back(first);
  } else {
    events_.push({now_ + work, first, work_done});
  }
}

/// Ends service in one of the pools.
void ClusterSimulator::arrive(std::size_t line) {
  Line& what = lines_[line];
  if (--what.pools_left > 0) return;
  if (what.first == none) return begin(line, what.dispatcher.voted(now_));
  done_.push_back(what.first);
}

void ClusterSimulator::happen_in(std::size_t line, LineEvent event) {
  Dispatcher& dispatcher = lines_[line].dispatcher;
  switch (event) {
    case LineEvent::look:
      return begin(line, dispatcher.looked(now_));
    case LineEvent::choice:
      return begin(line, dispatcher.chosen());
    case LineEvent::barrier:
      return begin(line, dispatcher.met(now_));
    case LineEvent::vote:
      return begin(line, dispatcher.voted(now_));
    case LineEvent::part:
      return arrive(line);
  }
  fail_expectation("what happens in a line is one of the enumeration");
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
  if (event.number > number_of_links()) {
    now_ = event.when;
    const std::uint32_t number = event.number - number_of_links() - 1;
    return happen_in(number / line_events, static_cast<LineEvent>(number % line_events));
  }
  const std::uint32_t number = event.number - tasks();
  Pool& pool = pools_[number];
  if (event.generation != pool.generation) return;
  now_ = event.when;
  const auto [pace, task] = pool.done.top();
  pool.done.pop();
  pool.pace = pace;  // exact, without rounding errors
  pool.since = now_;
  pool.wanted = --pool.running == 0 ? 0 : pool.wanted - demand_of(task);
  plan(number);
  if (task < tasks()) return done_.push_back(task);
  arrive((task - number_of_links() - 1) / line_events);
}

/// Finishes a task, or a message with the rest of its pack.
void ClusterSimulator::finish(std::uint32_t task) {
  if (entry_of(task).kind != Kind::message) return end(task);
  const std::uint32_t message = entry_of(task).pool;
  const std::uint32_t line = graph_->places_[message].line;
  begin(line, lines_[line].dispatcher.served(now_));
  end(task);
  if (riders_.empty()) return;
  for (const std::uint32_t rider : riders_[message]) end(rider);
}

void ClusterSimulator::end(std::uint32_t task) {
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

/// Finishes the tasks that are done now, and those after them that take no time.
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
