#pragma once
#include <optional>
#include <string>

#include "core/base/units.hpp"
#include "core/run/run.hpp"
#include "model/communication/range_fit.hpp"
#include "model/machine/machine.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// Between ranks of one node, or of different ones.
enum class LinkKind { intra, inter };

/// α and β of a link, and in words what they come from.
struct KnownLink {
  LinkFit fit;
  std::string from;
  bool nominal = false;  ///< of a data sheet, or stated
};

/// What a machine knows of the link that messages of `transfer` bytes cross, pieces of one of `m`
/// bytes that all ranks add up. In this order:
///   stated for this prediction (Machine::inter_node_stated);
///   messages from one rank to another over such a link (bench comm --collectives sendrecv);
///   α and β of the closed form fitted to all-reduces of the library on several numbers of ranks;
///   of an all-reduce of the library over such links, those that make a ring take as long:
///     α / (2 (p - 1)) and β p / (2 (p - 1)) of its fit [D, derived: the ring's closed form solved
///     for its link]; wrong where the library's is far from a ring;
///   the cluster's description, of the devices that `placement` uses.
/// Fits of ranks that met as they do in `schedule` are preferred. Nothing if none of it is there.
std::optional<KnownLink> known_link(const Machine& machine, LinkKind kind,
                                    const Placement& placement, Schedule schedule, Bytes transfer,
                                    Bytes m);

}  // namespace dlscale::model
