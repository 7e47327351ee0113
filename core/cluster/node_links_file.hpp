#pragma once
#include <optional>

#include "core/cluster/node_links.hpp"
#include "core/config/config_file.hpp"

namespace dlscale {

/// The keys `network` and `node` of a cluster file (docs/reference/configuration/links.md). Both
/// functions throw ConfigError, which names the file, the place and what to write.
NetworkLinks read_network_links(const ConfigMap& map);

/// The tree may place the adapters of `network`; nullptr: none.
NodeLinks read_node_links(const ConfigMap& map, const NetworkLinks* network, int devices);

/// Sets nvlink_rings() of the first 0, 1, 2 … `devices` devices of a mesh; empty for switches.
void count_rings(Nvlinks& nvlinks, int devices);

}  // namespace dlscale
