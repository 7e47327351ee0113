#pragma once
#include <string>

#include "core/base/units.hpp"
#include "core/collective/algorithm.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/topology/nccl.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// A message of one number of 4 bytes.
inline constexpr Bytes smallest_message(4);

/// NCCL's own cost model (3.9) of a collective on the ranks of a placement, by the facts of the
/// cluster. The low end of the interval subtracts the time of its smallest message, because the
/// model has no links without start-ups. The high end is the time over the slowest links
/// (sheet_links()).
class NcclTimes {
 public:
  /// Requires ≥ 2 ranks and a cluster with facts for NCCL.
  NcclTimes(const Machine& machine, const Placement& placement, collective::Collective collective);
  /// `name` is that of the collective in `notes`, which receive NCCL's choice.
  [[nodiscard]] Estimate<Seconds> time(Bytes message, const std::string& name, Notes& notes) const;

 private:
  NcclModel stated_;
  NcclModel slow_;
};

}  // namespace dlscale::model
