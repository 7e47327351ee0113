#include "model/sgd_iter/costs/input_pipeline.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

template <class Q>
bool is_amount(Q value) {
  return std::isfinite(value.si()) && value >= Q();
}

template <class Q>
bool is_positive(Q value) {
  return is_amount(value) && value > Q();
}

/// The path to other nodes; where it is not stated, as fast as the server.
BytesPerSecond path_to_server(const Cluster& cluster) {
  const BytesPerSecond path = cluster.inter_node.bandwidth;
  return path > BytesPerSecond() ? path : cluster.storage.read_bandwidth;
}

}  // namespace

InputRate input_rate(const SampleCost& sample, const InputNode& node) {
  EXPECT(is_positive(sample.stored) && is_amount(sample.decode) && node.threads >= 1);
  EXPECT(!node.read || is_positive(*node.read));
  const double read = node.read ? *node.read / sample.stored * Seconds(1) : infinity;
  const double decode = node.threads * (Seconds(1) / sample.decode);
  return read <= decode ? InputRate{read, InputStage::read} : InputRate{decode, InputStage::decode};
}

BytesPerSecond shared_read(BytesPerSecond client, BytesPerSecond server, double nodes) {
  EXPECT(is_positive(client) && is_positive(server) && std::isfinite(nodes) && nodes >= 1);
  return std::min(client, server / nodes);
}

double accelerator_utilisation(Seconds compute, Seconds stall) {
  EXPECT(is_positive(compute) && is_amount(stall));
  return compute / (compute + stall);
}

BytesPerSecond required_read(double samples_per_s, Bytes stored) {
  EXPECT(std::isfinite(samples_per_s) && samples_per_s > 0 && is_positive(stored));
  return stored * samples_per_s / Seconds(1);
}

double picture_share(const Network& network) {
  constexpr double usual_pixels = 224.0 * 224;
  const ImageShape input = network.input();
  if (network.is_over_sequences() || input.width == 1) return 1;
  return std::min(1.0, static_cast<double>(input.height) * input.width / usual_pixels);
}

Seconds storage_time(const Machine& machine, const Placement& placement, int batch, Bytes stored) {
  const Storage& storage = machine.cluster.storage;
  const bool served = storage.shared_by_nodes && placement.nodes() > 1;
  if (storage.read_bandwidth.si() <= 0 || (machine.fitted && !served)) return {};
  const int readers = placement.ranks_on_node();
  BytesPerSecond read = storage.read_bandwidth;
  if (storage.shared_by_nodes) {
    const double nodes = static_cast<double>(placement.ranks) / readers;
    read = shared_read(path_to_server(machine.cluster), read, nodes);
  }
  return static_cast<double>(readers) * batch * stored / read;
}

std::optional<SharedStorage> shared_storage(const Machine& machine, const Placement& placement,
                                            int batch, Bytes stored) {
  const Cluster& cluster = machine.cluster;
  const bool takes_time = storage_time(machine, placement, batch, stored) > Seconds();
  if (!cluster.storage.shared_by_nodes || !takes_time) return std::nullopt;
  return SharedStorage{batch * stored, cluster.storage.read_bandwidth, path_to_server(cluster)};
}

}  // namespace dlscale::model
