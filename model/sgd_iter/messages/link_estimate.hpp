#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/base/units.hpp"
#include "core/run/run.hpp"
#include "model/communication/range_fit.hpp"
#include "model/machine/machine.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

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

}  // namespace dlscale::model
