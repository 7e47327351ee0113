#pragma once
#include <span>
#include <string>

#include "core/results/measurement.hpp"
#include "core/system/environment.hpp"

namespace dlscale::model {

/// What results say of the links between the hosts of a cluster of scripts/cluster, from
/// DLSCALE_CLUSTER in their environment, each kind once: "links of 1Gb/s by tc tbf with bursts of
/// 50000 bytes", however many hosts there were, so that those are one cluster with more or fewer.
/// Empty where they say nothing, as on hosts of their own.
std::string links_between_hosts(const Environment& environment);

/// How many cores the hosts of a cluster of scripts/cluster have between them, which share those of
/// one machine, from DLSCALE_CLUSTER: 2 for "3 hosts on one machine with cores 0,1 | 0,1 | 0,1, …".
/// 0 where that does not say so, as on hosts of their own.
int cores_of_hosts(const Environment& environment);

/// The value that all have; 0 if they differ, or there is none.
int alike(std::span<const int> values);

/// Whether its ranks were on several hosts, so that links between these mattered; not where it does
/// not say (axes "ranks" and "ranks_on_node").
bool is_between_hosts(const Measurement& measurement);

}  // namespace dlscale::model
