#include "model/sgd_iter/cluster/cluster_graph.hpp"

#include <cmath>
#include <utility>

#include "core/base/error.hpp"

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

LineId ClusterGraph::add_line(Resource resource, std::vector<PoolId> pools) {
  EXPECT(resource.servers == 1 && resource.window >= 1 && lines_.size() < none);
  EXPECT(!resource.packing || (resource.packing->time != nullptr && resource.window == 1 &&
                               resource.order == Order::ready));
  for (const PoolId pool : pools) EXPECT(pool.index() < pools_.size());
  lines_.push_back({std::move(resource), std::move(pools)});
  return LineId(lines_.size() - 1);
}

void ClusterGraph::reserve(std::size_t tasks, std::size_t edges) {
  entries_.reserve(tasks);
  after_ends_.reserve(tasks);
  after_.reserve(edges);
}

TaskId ClusterGraph::add_entry(const Entry& entry, std::span<const TaskId> after) {
  // Every event has a number.
  EXPECT(entries_.size() + pools_.size() + 1 + 8 * lines_.size() < none);
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
  entry.kind = Kind::flow;
  entry.pool = static_cast<std::uint32_t>(paths_.size());
  paths_.push_back({path_links_.size(), path_links_.size() + path.size()});
  path_links_.insert(path_links_.end(), path.begin(), path.end());
  return add_entry(entry, after);
}

TaskId ClusterGraph::add_message(LineId line, const ClusterMessage& message,
                                 std::span<const TaskId> after) {
  EXPECT(line.index() < lines_.size() && places_.size() < none);
  EXPECT(is_amount(message.work.si()) && is_amount(message.barrier.si()));
  EXPECT(is_amount(message.demand) && is_amount(message.size.si()));
  EXPECT(message.barrier == Seconds() || !lines_[line.index()].resource.packing);
  Entry entry;
  entry.work = message.work.si();
  entry.delay = message.barrier.si();
  entry.demand = message.demand;
  entry.kind = Kind::message;
  entry.pool = static_cast<std::uint32_t>(places_.size());
  places_.push_back({static_cast<std::uint32_t>(line.index()), message.rank, message.size});
  return add_entry(entry, after);
}

}  // namespace dlscale::model
