#pragma once
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/cluster/cluster.hpp"
#include "model/fits/machine_value.hpp"

namespace dlscale::model::machine_file {

/// The keys `node` and `network` of the cluster in a machine file; of machine_read.cpp and
/// machine_write.cpp alone.
nlohmann::ordered_json node_json(const NodeLinks& node);
nlohmann::ordered_json network_json(const NetworkLinks& network);

/// Sets `cluster`'s from those that are there; files of earlier versions and clusters that describe
/// neither have none. Its number of devices must be there already. Refused like check() does.
void read_links_of(Object& object, Cluster& cluster);

}  // namespace dlscale::model::machine_file
