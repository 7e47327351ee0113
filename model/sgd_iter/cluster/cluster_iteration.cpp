#include "model/sgd_iter/cluster/cluster_iteration.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "core/base/error.hpp"
#include "model/sgd_iter/cluster/cluster_graph.hpp"
#include "model/sgd_iter/graph/iteration_graph.hpp"

namespace dlscale::model {
namespace {

bool shares_cores(const IterationPlan& plan) {
  return plan.most_cores_wanted() > plan.cores;
}

/// Number of simulated iterations: where cores are shared, loader threads read the batches of later
/// ones during those observed.
int simulated(const IterationPlan& plan, const CountedIterations& counted) {
  const int beyond = shares_cores(plan) ? static_cast<int>(queue_length(plan)) + 1 : 1;
  return counted.left_out + counted.counted + beyond;
}

/// Place of a task of the single-rank graph in the graph of all ranks.
struct Copies {
  TaskId first;          ///< of rank 0; for a collective the only one
  std::size_t next = 0;  ///< distance between the copies of successive ranks
};

/// Turns the graph of one rank into that of all ranks.
class Unfolding {
 public:
  Unfolding(const IterationGraph& folded, const Placement& placement,
            const ComputeFactors& factors);
  [[nodiscard]] const ClusterGraph& graph() const { return graph_; }
  /// Copies the times of a rank's tasks to the timeline of the graph of one rank.
  void read(const Timeline& all, Rank rank, Timeline& own) const;

 private:
  [[nodiscard]] const Task& task_of(std::size_t task) const {
    return folded_->graph().tasks()[task];
  }
  [[nodiscard]] bool is_collective(std::size_t task) const {
    return folded_->part_of(TaskId(task)) == Part::collective;
  }
  [[nodiscard]] TaskId copy(std::size_t task, Rank rank) const {
    return TaskId(copies_[task].first.index() +
                  static_cast<std::size_t>(rank) * copies_[task].next);
  }
  [[nodiscard]] ServerId server_of(ResourceId resource, Rank rank) const {
    const std::size_t each = folded_->graph().resources().size();
    return ServerId(static_cast<std::size_t>(rank) * each + resource.index());
  }
  [[nodiscard]] PoolId cores_of(Rank rank) const {
    return PoolId(first_cores_.index() + static_cast<std::size_t>(rank));
  }
  void add_resources();
  void make_room();
  void add_of_each_rank(std::size_t begin, std::size_t end);
  [[nodiscard]] ClusterTask of_rank(std::size_t task, Rank rank) const;
  void add_reading(Rank rank);
  void add_collective(std::size_t task);

  const IterationGraph* folded_;
  Placement placement_;
  const ComputeFactors* factors_;
  bool shares_cores_;
  ClusterGraph graph_;
  PoolId first_cores_;                               ///< by rank; only where cores are shared
  PoolId first_storage_;                             ///< by node
  std::vector<LinkId> server_and_nodes_;             ///< of shared storage, else empty
  std::vector<std::optional<TaskId>> last_reading_;  ///< by rank, likewise
  std::vector<Copies> copies_;                       ///< by task of the graph of one rank
  std::vector<std::size_t> iteration_of_;            ///< likewise
  std::vector<TaskId> after_;
};

Unfolding::Unfolding(const IterationGraph& folded, const Placement& placement,
                     const ComputeFactors& factors)
    : folded_(&folded),
      placement_(placement),
      factors_(&factors),
      shares_cores_(shares_cores(folded.plan())) {
  add_resources();
  make_room();
  const std::size_t tasks = folded.graph().tasks().size();
  for (std::size_t task = 0; task < tasks;) {
    std::size_t end = task;
    while (end < tasks && !is_collective(end)) ++end;
    if (end > task) {
      add_of_each_rank(task, end);
      task = end;
    } else {
      add_collective(task++);
    }
  }
}

/// Reserves memory, exactly or with a small excess.
void Unfolding::make_room() {
  const auto ranks = static_cast<std::size_t>(placement_.ranks);
  std::size_t tasks = 0;
  std::size_t edges = 0;
  std::size_t iteration = 0;
  for (std::size_t task = 0; task < folded_->graph().tasks().size(); ++task) {
    while (task >= folded_->ends()[iteration]) ++iteration;
    iteration_of_.push_back(iteration);
    tasks += is_collective(task) ? 1 : ranks;
    edges += task_of(task).after.size() * ranks;
  }
  copies_.reserve(folded_->graph().tasks().size());
  graph_.reserve(tasks, edges);
}

void Unfolding::add_resources() {
  const IterationPlan& plan = folded_->plan();
  for (Rank rank = 0; rank < placement_.ranks; ++rank) {
    for (const Resource& resource : folded_->graph().resources()) {
      graph_.add_server(resource.servers);
    }
  }
  std::vector<PoolId> all_cores;
  for (Rank rank = 0; shares_cores_ && rank < placement_.ranks; ++rank) {
    all_cores.push_back(graph_.add_pool(plan.cores));
    if (rank == 0) first_cores_ = all_cores.back();
  }
  // Joint work of ranks gets a line for each resource that it uses of one rank.
  for (const Resource& resource : folded_->graph().resources()) {
    Resource one = resource;
    one.servers = 1;
    graph_.add_line(std::move(one), all_cores);
  }
  if (plan.shared_storage) {
    const auto& [batch, server, node_path] = *plan.shared_storage;
    server_and_nodes_.push_back(graph_.add_link(server));
    for (int node = 0; node < placement_.nodes(); ++node) {
      server_and_nodes_.push_back(graph_.add_link(node_path));
    }
    last_reading_.resize(static_cast<std::size_t>(placement_.ranks));
    return;
  }
  for (int node = 0; node < placement_.nodes(); ++node) {
    const PoolId storage = graph_.add_pool(1);
    if (node == 0) first_storage_ = storage;
  }
}

ClusterTask Unfolding::of_rank(std::size_t task, Rank rank) const {
  const Task& one = task_of(task);
  ClusterTask copy;
  copy.work = one.work;
  copy.delay = one.barrier;
  if (one.resource) copy.server = server_of(*one.resource, rank);
  if (shares_cores_) {
    copy.pool = cores_of(rank);
    copy.demand = one.cores;
  }
  const Part part = folded_->part_of(TaskId(task));
  if (part == Part::computing) copy.work = factors_->at(rank, iteration_of_[task]) * one.work;
  if (part == Part::storage) {
    const auto node = static_cast<std::size_t>(placement_.node(rank));
    copy.work = one.work / placement_.ranks_on_node();
    copy.pool = PoolId(first_storage_.index() + node);
    copy.demand = 1;
  }
  return copy;
}

/// Adds a reading after `after_` and the rank's batch before it.
void Unfolding::add_reading(Rank rank) {
  std::optional<TaskId>& last = last_reading_[static_cast<std::size_t>(rank)];
  if (last) after_.push_back(*last);
  const auto node = static_cast<std::size_t>(placement_.node(rank));
  const std::array path{server_and_nodes_.front(), server_and_nodes_[1 + node]};
  last = graph_.add_flow(folded_->plan().shared_storage.value().batch, path, after_);
}

/// Adds tasks between two collectives: all of a rank, then all of the next, so that a rank's tasks
/// are adjacent in memory.
void Unfolding::add_of_each_rank(std::size_t begin, std::size_t end) {
  for (std::size_t task = begin; task < end; ++task) {
    copies_.push_back({TaskId(graph_.tasks() + task - begin), end - begin});
  }
  for (Rank rank = 0; rank < placement_.ranks; ++rank) {
    for (std::size_t task = begin; task < end; ++task) {
      after_.clear();
      for (const TaskId before : task_of(task).after) after_.push_back(copy(before.index(), rank));
      if (last_reading_.empty() || folded_->part_of(TaskId(task)) != Part::storage) {
        graph_.add(of_rank(task, rank), after_);
      } else {
        add_reading(rank);
      }
    }
  }
}

/// Adds a collective, ready when the last rank has reached it.
void Unfolding::add_collective(std::size_t task) {
  const Task& one = task_of(task);
  after_.clear();
  for (const TaskId before : one.after) {
    const Rank ranks = is_collective(before.index()) ? 1 : placement_.ranks;
    for (Rank rank = 0; rank < ranks; ++rank) after_.push_back(copy(before.index(), rank));
  }
  ClusterMessage message;
  message.work = one.work;
  message.barrier = one.barrier;
  message.demand = one.cores;
  message.rank = one.rank;
  message.size = one.size;
  copies_.push_back({graph_.add_message(LineId(one.resource.value().index()), message, after_)});
}

void Unfolding::read(const Timeline& all, Rank rank, Timeline& own) const {
  own.start.resize(copies_.size());
  own.finish.resize(copies_.size());
  for (std::size_t task = 0; task < copies_.size(); ++task) {
    const TaskId last = copy(task, rank);
    own.start[task] = all.started(last);
    own.finish[task] = all.finished(last);
  }
}

/// Computes the means of ClusterIteration, rank by rank.
class Reading {
 public:
  Reading(const IterationGraph& folded, const CountedIterations& counted)
      : folded_(&folded),
        counted_(counted),
        last_backward_(static_cast<std::size_t>(counted.counted)) {}
  void add(const Timeline& own);
  [[nodiscard]] ClusterIteration result() &&;

 private:
  const IterationGraph* folded_;
  CountedIterations counted_;
  std::vector<Seconds> last_backward_;  ///< by iteration: end of backward on the last rank
  std::vector<Seconds> sum_backward_;   ///< by rank: sum of its own ends of backward
  std::vector<IterationTime> ranks_;
};

void Reading::add(const Timeline& own) {
  const std::vector<IterationMarks>& iterations = folded_->iterations();
  IterationTime mean;
  Seconds backward;
  for (std::size_t i = 0; i < last_backward_.size(); ++i) {
    const std::size_t k = static_cast<std::size_t>(counted_.left_out) + i;
    const Seconds start = own.finished(iterations[k - 1].end);
    const IterationTime time =
        phases(folded_->plan(), own, iterations[k], start, iterations[k + 1]);
    for (const auto phase : all_phases) mean.*phase += time.*phase / counted_.counted;
    const Seconds computed = own.finished(iterations[k].backward);
    last_backward_[i] = std::max(last_backward_[i], computed);
    backward += computed;
  }
  ranks_.push_back(mean);
  sum_backward_.push_back(backward);
}

ClusterIteration Reading::result() && {
  ClusterIteration result;
  Seconds last;
  for (const Seconds one : last_backward_) last += one;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    result.total += ranks_[rank].total / static_cast<double>(ranks_.size());
    result.waiting.push_back((last - sum_backward_[rank]) / counted_.counted);
  }
  result.ranks = std::move(ranks_);
  return result;
}

}  // namespace

std::string why_not_unfolded(const IterationPlan& plan) {
  if (plan.overlaps() && !plan.contention.empty()) {
    return "computing and messages slow one another down";
  }
  const auto takes = [](const LaunchedWork& work) { return work.host > Seconds(); };
  const auto part_takes = [&](const auto& part) { return takes(part.compute); };
  if (takes(plan.h2d) || takes(plan.forward) || takes(plan.update) ||
      std::ranges::any_of(plan.late, part_takes) ||
      std::ranges::any_of(plan.backward, part_takes)) {
    return "the host takes time to give the device its work";
  }
  return "";
}

double unfolded_tasks(const IterationPlan& plan, const Placement& placement,
                      const CountedIterations& counted) {
  // Approximate tasks of an iteration for batches, waits, and updates.
  constexpr double rest = 16;
  std::size_t parts = plan.backward.size() + 3 * plan.late.size();
  // Pieces are not tasks of each rank, but tasks of all ranks wait for them.
  for (const BackwardPart& part : plan.backward) parts += part.pieces.size() / 4;
  return placement.ranks * (static_cast<double>(parts) + rest) * simulated(plan, counted);
}

ClusterIteration simulate_cluster(const IterationPlan& plan, const Placement& placement,
                                  const ComputeFactors& factors, const CountedIterations& counted) {
  EXPECT(placement.ranks >= 1 && placement.ranks_per_node >= 1);
  EXPECT(plan.loader_threads >= 1 && plan.prefetch >= 1);
  EXPECT(counted.left_out >= 1 && counted.counted >= 1);
  EXPECT(why_not_unfolded(plan).empty());
  IterationGraph folded(plan);
  for (int k = 0; k < simulated(plan, counted); ++k) folded.add_iteration();
  const Unfolding unfolding(folded, placement, factors);
  const Timeline timeline = simulate(unfolding.graph());
  Reading reading(folded, counted);
  Timeline own;
  for (Rank rank = 0; rank < placement.ranks; ++rank) {
    unfolding.read(timeline, rank, own);
    reading.add(own);
  }
  return std::move(reading).result();
}

}  // namespace dlscale::model
