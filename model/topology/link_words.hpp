#pragma once
#include "core/cluster/cluster.hpp"

namespace dlscale::model {

/// Kinds of links by what a cluster states (`node`, `network`), else by the names of its links.

/// Whether sockets over TCP carry messages between nodes.
bool names_sockets(const Cluster& cluster);
/// Whether NVLinks, or Infinity Fabric, join devices of a node. Links that are faster than PCI
/// Express count as such.
bool names_nvlinks(const Cluster& cluster);
/// Whether the links to a processor are like those between devices, as on POWER9.
bool names_near_host(const Cluster& cluster);

/// Whether the cluster names neither TCP nor a network with RDMA between nodes.
bool may_be_tcp_or_rdma(const Cluster& cluster);
/// Whether the cluster names neither PCI Express nor NVLinks, and PCI Express may be as fast.
bool may_be_pcie_or_nvlink(const Cluster& cluster);

}  // namespace dlscale::model
