#pragma once
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/cluster/cluster.hpp"
#include "model/machine/machine_value.hpp"

namespace dlscale::model::machine_file {

/// JSON of the keys `node` and `network` of the cluster in a machine file. Used by machine_read.cpp
/// and machine_write.cpp only.
nlohmann::ordered_json node_json(const NodeLinks& node);
nlohmann::ordered_json network_json(const NetworkLinks& network);

/// Sets both descriptions of `cluster` from the keys present; files of earlier versions and
/// clusters without descriptions have none. Requires the number of devices. Rejects what check()
/// rejects.
void read_links_of(Object& object, Cluster& cluster);

}  // namespace dlscale::model::machine_file
