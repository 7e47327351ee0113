#pragma once
#include <span>
#include <string>

#include "core/results/measurement.hpp"
#include "core/system/environment.hpp"

namespace dlscale::model {

/// The links between the hosts of a cluster of scripts/cluster, from DLSCALE_CLUSTER in their
/// environment, each kind once: "links of 1Gb/s by tc tbf with bursts of 50000 bytes". It omits the
/// number of hosts, so that a cluster with more or fewer hosts stays the same. Empty where the
/// environment says nothing, as on hosts of their own.
std::string links_between_hosts(const Environment& environment);

/// Number of cores that the hosts of a cluster of scripts/cluster share on one machine, from
/// DLSCALE_CLUSTER: 2 for "3 hosts on one machine with cores 0,1 | 0,1 | 0,1, …". 0 where that is
/// not stated, as on hosts of their own.
int cores_of_hosts(const Environment& environment);

/// The common value of all; 0 if they differ, or there is none.
int alike(std::span<const int> values);

/// Whether the ranks were on several hosts, so that links between them mattered. False where that
/// is not stated (axes "ranks" and "ranks_on_node").
bool is_between_hosts(const Measurement& measurement);

}  // namespace dlscale::model
