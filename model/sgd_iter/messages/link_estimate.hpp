#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/cluster/cluster.hpp"
#include "core/run/run.hpp"
#include "model/communication/range_fit.hpp"
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

/// How ranks wait for each other before a message of training, in the words of bench comm
/// --waiting. A training thread that sends spins; a communication thread sleeps.
inline std::string_view waiting_in(Schedule schedule) {
  return schedule == Schedule::sequential ? "spin" : "sleep";
}

/// A link between ranks of one node, or of different nodes.
enum class LinkKind { intra, inter };

/// α and β of a link, and their source in words.
struct LinkEstimate {
  LinkFit fit;
  std::string from;
  bool nominal = false;  ///< from a data sheet, or stated
};

/// The machine's best knowledge of the link that messages of `transfer` bytes cross, pieces of an
/// all-reduce of `m` bytes. In this order:
///   stated for this prediction (Machine::inter_node_stated);
///   messages from one rank to another over such a link (bench comm --collectives sendrecv);
///   α and β of the closed form fitted to all-reduces of the library on several numbers of ranks;
///   an all-reduce of the library over such links, by the link for which a ring takes as long:
///     α / (2 (p - 1)) and β p / (2 (p - 1)) of its fit [D, derived: the ring's closed form solved
///     for its link]; wrong where the library's is far from a ring;
///   the cluster's description, of the devices that `placement` uses.
/// Prefers fits whose ranks waited as in `schedule`. Empty if there is none of these.
std::optional<LinkEstimate> estimate_link(const Machine& machine, LinkKind kind,
                                          const Placement& placement, Schedule schedule,
                                          Bytes transfer, Bytes m);

/// The fit of messages from one rank to another (bench comm --collectives sendrecv) over the
/// slowest kind of link between the ranks of a placement: between nodes if there are several, else
/// within one. Takes the fit of the fewest ranks, preferably after waiting as in `schedule`;
/// nullptr if there is none.
const CollectiveFit* measured_pair(const Machine& machine, const Placement& placement,
                                   Schedule schedule);

/// An all-reduce derived from messages from one rank to another, where none was measured.
struct PairTime {
  Estimate<Seconds> time;
  std::string_view algorithm;  ///< the fastest of the candidates
};

/// Time of m bytes by the fastest closed form of `algorithms`, all-reduces of one level:
///   T(m) = A α + B m β + C m γ
/// with A, B and C of the algorithm (LinkTerms; B includes the ranks of a node that send at once),
/// α and β of the pair at the size of a step, B m / A of one rank, and γ of the machine, 0 if
/// unknown. Wrong where the library chooses another algorithm, and where two messages of a step
/// share a link that cannot carry both at its full rate. [D, from core/collective]
PairTime all_reduce_by_pair(const Machine& machine, const CollectiveFit& pair,
                            const Placement& placement, Bytes m,
                            std::span<const std::string_view> algorithms);

}  // namespace dlscale::model
