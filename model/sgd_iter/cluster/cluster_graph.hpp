#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "model/sgd_iter/cluster/max_min_fair_links.hpp"
#include "model/sgd_iter/graph/task_graph.hpp"

namespace dlscale::model {

/// A server of tasks in order of readiness, one or several at a time: a compute stream, a copy
/// engine, decode threads.
using ServerId = Id<struct ServerTag>;
/// A capacity shared by concurrent tasks: cores, the storage path of a node.
using PoolId = Id<struct PoolTag>;

/// A queue of joint work of ranks, one at a time: messages.
using LineId = Id<struct LineTag>;

/// A piece of work of one rank, or of several together. It starts when all its predecessors have
/// finished and its server is free; without a server, as soon as they have finished.
struct ClusterTask {
  Seconds work = {};   ///< its time with the pool to itself, ≥ 0
  Seconds delay = {};  ///< ≥ 0: from start to begin of work; uses the server, not the pool
  std::optional<ServerId> server = {};
  std::optional<PoolId> pool = {};
  double demand = 0;  ///< use of the pool, ≥ 0, in the units of its capacity
};

/// A message of several ranks, ordered by its line.
struct ClusterMessage {
  Seconds work = {};  ///< time alone on the pools of the line, ≥ 0; ignored where the line packs
  Seconds barrier = {};  ///< ≥ 0: from its start until its work begins
  double demand = 0;     ///< use of each pool of its line, ≥ 0
  int rank = 0;          ///< as Task::rank
  Bytes size = {};       ///< as Task::size
};

/// The tasks of all ranks of a cluster and their resources: TaskGraph for many ranks instead of one
/// that stands for all. It differs from TaskGraph:
///   - every rank has its own cores, and every node its own storage path and links; all tasks of a
///     TaskGraph share one set of cores;
///   - a million tasks must fit in memory and run within a second. So it uses arrays of plain
///     numbers, about 80 B a task with its times and 8 B an edge, instead of lists in each task.
/// Messages slow computing down only by the cores that they share.
class ClusterGraph {
 public:
  ServerId add_server(int servers = 1);
  /// While tasks on the pool want more than `capacity` > 0, all slow down in proportion, to
  /// capacity / Σ demand: as processor cores do (Progress), or as flows on one path, if each
  /// demands the whole capacity.
  PoolId add_pool(double capacity);
  LinkId add_link(BytesPerSecond capacity) { return links_.add(capacity); }
  /// Serves messages by the rules of a TaskGraph's resource of one server (Dispatcher). A message
  /// uses its demand of each of `pools`, and ends once it is done in all of them.
  LineId add_line(Resource resource, std::vector<PoolId> pools);
  /// `after` names tasks added before, so a graph has no cycle; duplicates are allowed.
  TaskId add(const ClusterTask& task, std::span<const TaskId> after);
  /// A flow of ≥ 0 bytes over shared links (MaxMinFairLinks); its latency is a separate task before
  /// it.
  TaskId add_flow(Bytes size, std::span<const LinkId> path, std::span<const TaskId> after);

  TaskId add_message(LineId line, const ClusterMessage& message, std::span<const TaskId> after);

  /// Reserves memory for this total of tasks and edges.
  void reserve(std::size_t tasks, std::size_t edges);
  [[nodiscard]] std::size_t tasks() const { return entries_.size(); }
  [[nodiscard]] std::size_t edges() const { return after_.size(); }

 private:
  friend class ClusterSimulator;
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  enum class Kind : std::uint8_t { work, flow, message };
  struct Entry {
    double work = 0;  ///< seconds; of a flow bytes
    double delay = 0;
    double demand = 0;
    std::uint32_t server = none;
    std::uint32_t pool = none;  ///< a flow's or a message's number
    Kind kind = Kind::work;
  };
  struct Line {
    Resource resource;
    std::vector<PoolId> pools;
  };
  /// Further data of a message.
  struct Place {
    std::uint32_t line;
    int rank;
    Bytes size;
  };
  struct Path {
    std::size_t begin;
    std::size_t end;
  };

  TaskId add_entry(const Entry& entry, std::span<const TaskId> after);

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> after_;     ///< predecessors of all tasks, concatenated
  std::vector<std::size_t> after_ends_;  ///< by task, in after_
  std::vector<int> servers_;             ///< tasks at a time, by server
  std::vector<double> pools_;            ///< capacities
  std::vector<Line> lines_;
  std::vector<Place> places_;  ///< by message
  MaxMinFairLinks links_;
  std::vector<Path> paths_;  ///< of flows, in path_links_
  std::vector<LinkId> path_links_;
};

/// Simulates the graph by events, in O((tasks + edges) log tasks), without the cost of flows
/// (MaxMinFairLinks). Equal graphs give equal timelines.
Timeline simulate(const ClusterGraph& graph);

}  // namespace dlscale::model
