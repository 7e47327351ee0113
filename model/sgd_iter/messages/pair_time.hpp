#pragma once
#include <span>
#include <string_view>

#include "core/base/units.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

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
