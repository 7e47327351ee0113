#pragma once
#include <optional>
#include <vector>

#include "core/collective/algorithm.hpp"
#include "core/network/merge.hpp"
#include "model/machine/machine.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// a and b of an all-reduce whose closed form a + b M is a line in the message size M: ring,
/// recursive_doubling, rabenseifner, binomial and hierarchical. Empty for other algorithms, whose
/// time also depends on the number of segments, and where collective::obstacle() names a reason.
std::optional<LinearCost> all_reduce_line(const collective::Algorithm& algorithm,
                                          const collective::Links& links,
                                          const collective::Settings& settings);

/// The lines of a machine from data sheets alone, for ≥ 2 ranks. Its cluster adds gradients by a
/// ring (1.14), by rings in two levels (3.13), or by the fastest of several for each message.
/// MessageTimes then takes the least of the lines, T(M) = min over i of a_i + b_i M. Empty for
/// every other machine and rule. Throws ConfigError where the cluster gives a link no bandwidth.
std::vector<LinearCost> nominal_lines(const Machine& machine, const Placement& placement);

/// The line of nominal_lines(), where one line holds for all sizes.
std::optional<LinearCost> nominal_line(const Machine& machine, const Placement& placement);

}  // namespace dlscale::model
