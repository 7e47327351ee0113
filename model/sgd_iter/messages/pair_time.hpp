#pragma once
#include <span>
#include <string_view>

#include "core/base/units.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// The fit of messages from one rank to another (bench comm --collectives sendrecv) over the kind
/// of link that is the slowest between the ranks of a placement: between nodes if there are
/// several, else within one. Of several that of the fewest ranks, measured after ranks met as they
/// do in `schedule` if there is one; nullptr if there is none.
const CollectiveFit* measured_pair(const Machine& machine, const Placement& placement,
                                   Schedule schedule);

/// An all-reduce where none was measured, but messages from one rank to another were.
struct PairTime {
  Estimate<Seconds> time;
  std::string_view algorithm;  ///< the quickest of those asked for
};

/// m bytes by the closed form that takes least of those of `algorithms`, of the family of
/// all-reduces and of one level:
///   T(m) = A α + B m β + C m γ
/// with A, B and C of the algorithm (LinkTerms; B has the ranks of a node that send at once), α and
/// β of the pair at the size that a step sends, B m / A of one rank, and γ of the machine, 0 if it
/// knows none. Wrong where the library chooses another algorithm, and where two messages of a step
/// meet on a link that cannot carry both at its full rate. [D, from core/collective]
PairTime all_reduce_by_pair(const Machine& machine, const CollectiveFit& pair,
                            const Placement& placement, Bytes m,
                            std::span<const std::string_view> algorithms);

}  // namespace dlscale::model
