#pragma once
#include <string_view>

#include "core/cluster/cluster.hpp"

namespace dlscale::model {

/// A cluster whose device states its peak alone, so that kernels run at full peak.
inline Cluster without_sheet(std::string_view name) {
  Cluster cluster = load_cluster(name);
  cluster.device.units.reset();
  return cluster;
}

}  // namespace dlscale::model
