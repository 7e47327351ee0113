#include "core/collective/selection/parameter_servers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/base/error.hpp"
#include "core/base/ids.hpp"
#include "core/network/merge.hpp"

namespace dlscale::collective {
namespace {

constexpr std::size_t mxnet_hash = 9973;

std::vector<Bytes> empty_servers(int servers) {
  EXPECT(servers >= 1);
  return std::vector<Bytes>(static_cast<std::size_t>(servers));
}

std::vector<Bytes> largest_first_servers(std::span<const Bytes> tensors, int servers) {
  std::vector<Bytes> kept = empty_servers(servers);
  const std::vector<Rank> owners = shard_owners(tensors, servers);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    kept[static_cast<std::size_t>(owners[i])] += tensors[i];
  }
  return kept;
}

}  // namespace

std::vector<Bytes> mxnet_servers(std::span<const Bytes> tensors, Bytes element, int servers,
                                 double bound) {
  EXPECT(element.si() > 0);
  std::vector<Bytes> kept = empty_servers(servers);
  const auto count = static_cast<double>(kept.size());
  for (std::size_t key = 0; key < tensors.size(); ++key) {
    const double elements = std::round(tensors[key] / element);
    if (elements < bound) {
      kept[key * mxnet_hash % kept.size()] += tensors[key];
      continue;
    }
    double given = 0;
    for (std::size_t s = 0; s < kept.size(); ++s) {
      const double up_to = std::round(elements / count * static_cast<double>(s + 1));
      kept[s] += (up_to - given) * element;
      given = up_to;
    }
  }
  return kept;
}

std::vector<Bytes> tensorflow_servers(std::span<const Bytes> tensors, int servers) {
  std::vector<Bytes> kept = empty_servers(servers);
  for (std::size_t i = 0; i < tensors.size(); ++i) kept[i % kept.size()] += tensors[i];
  return kept;
}

std::vector<Bytes> tensorflow_greedy_servers(std::span<const Bytes> tensors, int servers) {
  std::vector<Bytes> kept = empty_servers(servers);
  for (const Bytes tensor : tensors) *std::ranges::min_element(kept) += tensor;
  return kept;
}

std::vector<Bytes> servers_by(Sharding rule, std::span<const Bytes> tensors, Bytes element,
                              int servers) {
  switch (rule) {
    case Sharding::largest_first:
      return largest_first_servers(tensors, servers);
    case Sharding::mxnet:
      return mxnet_servers(tensors, element, servers);
    case Sharding::tensorflow:
      return tensorflow_servers(tensors, servers);
    case Sharding::tensorflow_greedy:
      return tensorflow_greedy_servers(tensors, servers);
  }
  fail_expectation("rule is a Sharding");
}

double imbalance(std::span<const Bytes> servers) {
  Bytes sum;
  for (const Bytes server : servers) sum += server;
  EXPECT(!servers.empty() && sum > Bytes());
  return static_cast<double>(servers.size()) * (*std::ranges::max_element(servers) / sum);
}

}  // namespace dlscale::collective
