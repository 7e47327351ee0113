#include "model/sgd_iter/messages/sharding.hpp"

#include <algorithm>
#include <cstdint>

#include "core/base/ids.hpp"
#include "core/collective/selection/parameter_servers.hpp"
#include "model/sgd_iter/messages/message_plan.hpp"

namespace dlscale::model {
namespace {

constexpr Bytes parameter_element = 4_B;

void add_tensors(const Layer& layer, std::vector<Bytes>& tensors) {
  for (const std::int64_t count : {layer.weight_count(), layer.bias_count()}) {
    if (count > 0) tensors.push_back(static_cast<double>(count) * parameter_element);
  }
}

}  // namespace

std::vector<Bytes> parameter_tensors(const Network& network) {
  std::vector<Bytes> tensors;
  for (const Layer& layer : network.layers()) add_tensors(layer, tensors);
  return tensors;
}

std::vector<Bytes> sent_apart(const Network& network, const Bucket& message, Sharding sharding) {
  if (sharding == Sharding::largest_first) return {message_size(message)};
  std::vector<Bytes> tensors;
  for (const LayerId layer : message.layers) add_tensors(network.layer(layer), tensors);
  return tensors;
}

std::vector<Bytes> owned_by_servers(const Network& network, std::span<const Bucket> messages,
                                    const Run& run) {
  std::vector<Bytes> owned;
  if (run.settings.sharding == Sharding::largest_first) {
    for (const Bucket& message : messages) owned.push_back(message_size(message));
  } else {
    owned = parameter_tensors(network);
  }
  return collective::servers_by(run.settings.sharding, owned, parameter_element, server_count(run));
}

Bytes most_owned(const Network& network, std::span<const Bucket> messages, const Run& run) {
  return std::ranges::max(owned_by_servers(network, messages, run));
}

}  // namespace dlscale::model
