#pragma once
#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/topology/datasheet_efficiency.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// A cluster with the fastest and the slowest links that a prediction from data sheets, or from
/// stated links, has to expect.
struct DatasheetLinks {
  Cluster quick;  ///< at line rate, without start-ups
  Cluster slow;   ///< with the efficiency and the start-ups of their LinkShares
};

/// The ends of a 90 % interval. For a fitted machine, whose Estimates are of 95 %, they lie further
/// out by 1.960 / 1.645, as if normal. They never exceed line rate or the cluster's payload rate.
/// Links of unknown kind take the least efficiency and the longest start-up of all possible kinds,
/// so that missing knowledge widens the interval. Longer stated start-ups stay. Between nodes of
/// several devices whose all-reduce is a ring, `slow` is both links in series.
DatasheetLinks datasheet_links(const Machine& machine);

/// The shares of the links within the nodes of a cluster and between them, by its description.
/// Require the bandwidth of such a link.
LinkShares shares_within(const Cluster& cluster);
LinkShares shares_between(const Cluster& cluster);

/// A note on each link of unknown kind that a placement uses.
std::vector<Note> untold_links(const Cluster& cluster, const Placement& placement);

}  // namespace dlscale::model
