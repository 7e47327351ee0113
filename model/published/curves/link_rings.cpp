#include "model/published/curves/link_rings.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/cluster/nvlink_rings.hpp"

namespace dlscale::model {
namespace {

constexpr int node_gpus = 8;

/// Links of the GPU with the fewest, to others of the first `gpus`: an upper bound on rings.
int least_links(std::span<const NvlinkPair> pairs, int gpus) {
  std::vector<int> links(static_cast<std::size_t>(gpus), 0);
  for (const NvlinkPair& pair : pairs) {
    if (std::max(pair.a, pair.b) >= gpus) continue;
    links[static_cast<std::size_t>(pair.a)] += pair.links;
    links[static_cast<std::size_t>(pair.b)] += pair.links;
  }
  return *std::ranges::min_element(links);
}

}  // namespace

std::optional<LinkRings> link_rings(const cases::CurveCluster& cluster, int gpus) {
  if (!cluster.intra_node || cluster.gpus_per_node != node_gpus) return {};
  if (gpus < 2 || gpus > node_gpus) return {};
  const bool v100 = cluster.intra_node->kind == "nvlink2";
  if (!v100 && cluster.intra_node->kind != "nvlink1") return {};
  const Nvlinks mesh = nvlink_board(v100 ? "dgx1_v100" : "dgx1_p100", node_gpus, "link_rings");
  const int rings = nvlink_rings(mesh.pairs, gpus);
  if (rings == 0) return LinkRings{least_links(mesh.pairs, gpus), false};
  return LinkRings{rings, true};
}

}  // namespace dlscale::model
