#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "model/sgd_iter/cluster/fair_links.hpp"
#include "model/sgd_iter/graph/task_graph.hpp"

namespace dlscale::model {

/// Serves tasks one at a time, or some at a time, in the order in which they become ready: a
/// compute stream, a copy engine, decode threads.
using ServerId = Id<struct ServerTag>;
/// Shared by what runs on it at once: cores, the storage path of a node.
using PoolId = Id<struct PoolTag>;

/// What ranks do together, one at a time: messages.
using LineId = Id<struct LineTag>;

/// A piece of work of one rank, or of several together. It starts when all that it comes after has
/// finished and its server is free; without one, at once.
struct ClusterTask {
  Seconds work = {};   ///< its time with the pool to itself, ≥ 0
  Seconds delay = {};  ///< ≥ 0: from its start until its work begins; on the server, not the pool
  std::optional<ServerId> server = {};
  std::optional<PoolId> pool = {};
  double demand = 0;  ///< of the pool, ≥ 0, in the units of its capacity
};

/// Of several ranks together, in the place that its line gives it among others.
struct ClusterMessage {
  Seconds work = {};  ///< its time with the pools of the line to itself, ≥ 0, unless these pack
  Seconds meeting = {};  ///< ≥ 0: from its start until its work begins
  double demand = 0;     ///< of each pool of its line, ≥ 0
  int rank = 0;          ///< as Task::rank
  Bytes size = {};       ///< as Task::size
};

/// The tasks of all ranks of a cluster and what they run on: for many ranks what TaskGraph is for
/// one that stands for all. Beside it, because here
///   - every rank has cores, and every node a storage path and links, of its own, where all tasks
///     of a TaskGraph share one set of cores;
///   - a million tasks have to fit and to run within a second: arrays of plain numbers, about 80 B
///   a
///     task with its times and 8 B for each that it comes after, where a task of a TaskGraph has
///     lists of its own.
/// It does not have messages slow computing down but by the cores that they share.
class ClusterGraph {
 public:
  ServerId add_server(int servers = 1);
  /// While what runs on it asks for more than `capacity` > 0, all of it slows down in proportion,
  /// to capacity / Σ demand: as processor cores do (Progress), or, of equal demands of the whole
  /// capacity, as flows that share one path.
  PoolId add_pool(double capacity);
  LinkId add_link(BytesPerSecond capacity) { return links_.add(capacity); }
  /// Serves messages as a TaskGraph's resource of one server does, by the same rules (Dispatcher).
  /// What it serves keeps each of `pools` busy, with what it demands, and has ended once it is done
  /// in all of them.
  LineId add_line(Resource resource, std::vector<PoolId> pools);
  /// `after` names tasks added before, so a graph has no cycle; naming one twice does no harm.
  TaskId add(const ClusterTask& task, std::span<const TaskId> after);
  /// Bytes ≥ 0 over links that other flows share (FairLinks); the latency is a task before it.
  TaskId add_flow(Bytes size, std::span<const LinkId> path, std::span<const TaskId> after);

  TaskId add_message(LineId line, const ClusterMessage& message, std::span<const TaskId> after);

  /// Room for as many of all tasks together.
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
    std::uint32_t pool = none;  ///< of a flow or a message its number
    Kind kind = Kind::work;
  };
  struct Line {
    Resource resource;
    std::vector<PoolId> pools;
  };
  /// Of a message what others have not.
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
  std::vector<std::uint32_t> after_;     ///< of all tasks, one after the other
  std::vector<std::size_t> after_ends_;  ///< by task, in after_
  std::vector<int> servers_;             ///< how many at a time, by server
  std::vector<double> pools_;            ///< capacities
  std::vector<Line> lines_;
  std::vector<Place> places_;  ///< by message
  FairLinks links_;
  std::vector<Path> paths_;  ///< of flows, in path_links_
  std::vector<LinkId> path_links_;
};

/// Runs the graph by events, in O((tasks + edges) log tasks) but for what FairLinks says of flows.
/// Equal graphs give equal timelines.
Timeline simulate(const ClusterGraph& graph);

}  // namespace dlscale::model
