#include "model/sgd_iter/costs/storage_time.hpp"

#include "model/sgd_iter/costs/input_pipeline.hpp"

namespace dlscale::model {
namespace {

/// The path to other nodes; where it is not stated, as fast as the server.
BytesPerSecond path_to_server(const Cluster& cluster) {
  const BytesPerSecond path = cluster.inter_node.bandwidth;
  return path > BytesPerSecond() ? path : cluster.storage.read_bandwidth;
}

}  // namespace

Seconds storage_time(const Machine& machine, const Placement& placement, int batch) {
  const Storage& storage = machine.cluster.storage;
  const bool served = storage.shared_by_nodes && placement.nodes() > 1;
  if (storage.read_bandwidth.si() <= 0 || (machine.fitted && !served)) return {};
  const int readers = placement.ranks_on_node();
  BytesPerSecond read = storage.read_bandwidth;
  if (storage.shared_by_nodes) {
    const double nodes = static_cast<double>(placement.ranks) / readers;
    read = shared_read(path_to_server(machine.cluster), read, nodes);
  }
  return static_cast<double>(readers) * batch * picture_size / read;
}

std::optional<SharedStorage> shared_storage(const Machine& machine, const Placement& placement,
                                            int batch) {
  const Cluster& cluster = machine.cluster;
  const bool takes_time = storage_time(machine, placement, batch) > Seconds();
  if (!cluster.storage.shared_by_nodes || !takes_time) return std::nullopt;
  return SharedStorage{batch * picture_size, cluster.storage.read_bandwidth,
                       path_to_server(cluster)};
}

}  // namespace dlscale::model
