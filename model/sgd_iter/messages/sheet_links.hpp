#pragma once
#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "model/machine/machine.hpp"
#include "model/topology/data_sheet_shares.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// A cluster with its links as quick, and as slow, as a prediction by their data sheets, or by what
/// somebody stated of them, has to expect.
struct SheetLinks {
  Cluster quick;  ///< at line rate, and nothing takes a start-up
  Cluster slow;   ///< at the efficiency, and with the start-ups, of their LinkShares
};

/// The ends are of 90 %; of a fitted machine, whose Estimates are of 95 %, they lie further out by
/// 1.960 / 1.645, as if normal, but never beyond line rate, and never quicker than what the cluster
/// says of its payload. Of links of which the cluster does not tell who carries them, the least
/// efficiency and the longest start-up of those that it may be: what is not known makes an interval
/// wider. Start-ups that are stated longer stay as they are. Between nodes of several devices whose
/// all-reduce is a ring, `slow` is of both links one after the other.
SheetLinks sheet_links(const Machine& machine);

/// Those that count within the nodes of a cluster and between them, by what it says of its links.
/// Require that it states the bandwidth of such a link.
LinkShares shares_within(const Cluster& cluster);
LinkShares shares_between(const Cluster& cluster);

/// Where a cluster does not tell of which kind links are that a placement uses, a sentence each.
std::vector<std::string> untold_links(const Cluster& cluster, const Placement& placement);

}  // namespace dlscale::model
