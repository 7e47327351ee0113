#include "model/topology/link_words.hpp"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string>
#include <string_view>

#include "model/topology/datasheet_efficiency.hpp"

namespace dlscale::model {
namespace {

/// Whether the name of a link has one of these words, in small or capital letters.
bool is_named(const LinkSpec& link, std::initializer_list<std::string_view> words) {
  std::string name = link.name;
  for (char& letter : name) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return std::ranges::any_of(
      words, [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

}  // namespace

bool names_sockets(const Cluster& cluster) {
  if (cluster.network) return cluster.network->kind == tcp_kind;
  return is_named(cluster.inter_node, {"ethernet", "tcp"}) &&
         !is_named(cluster.inter_node, {"roce"});
}

bool names_nvlinks(const Cluster& cluster) {
  if (cluster.node) return cluster.node->nvlinks.has_value();
  return is_named(cluster.intra_node, {"nvlink", "nvswitch", "infinity fabric"}) ||
         cluster.intra_node.bandwidth > fastest_pcie;
}

bool names_near_host(const Cluster& cluster) {
  return is_named(cluster.host_device, {"nvlink", "infinity fabric"});
}

bool may_be_tcp_or_rdma(const Cluster& cluster) {
  return !cluster.network &&
         !is_named(cluster.inter_node, {"ethernet", "tcp", "roce", "rdma", "infiniband",
                                        "omni-path", "slingshot", "aries", "efa"});
}

bool may_be_pcie_or_nvlink(const Cluster& cluster) {
  return !cluster.node && cluster.intra_node.bandwidth <= fastest_pcie &&
         !is_named(cluster.intra_node, {"pci", "nvlink", "nvswitch", "infinity fabric"});
}

}  // namespace dlscale::model
