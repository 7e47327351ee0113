#pragma once
#include <optional>
#include <vector>

#include "core/collective/algorithm.hpp"
#include "core/network/merge.hpp"
#include "model/machine/machine.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// a and b of an algorithm whose closed form is a line in the size of the message, a + b M: of
/// all-reduces ring, recursive_doubling, rabenseifner, binomial and hierarchical. Absent for the
/// others, whose time also depends on in how many segments they cut it, and where
/// collective::obstacle() names one.
std::optional<LinearCost> all_reduce_line(const collective::Algorithm& algorithm,
                                          const collective::Links& links,
                                          const collective::Settings& settings);

/// The same of a machine from data sheets alone, whose cluster adds gradients by a ring (1.14), by
/// rings in two levels (3.13) or by the quickest of several for each message: then the least of as
/// many lines as may be that, T(M) = min over i of a_i + b_i M. What MessageTimes says for ranks
/// ≥ 2. Empty for every other machine and rule. Throws ConfigError where the cluster gives a link
/// no bandwidth.
std::vector<LinearCost> nominal_lines(const Machine& machine, const Placement& placement);

/// Where that is one line for all sizes.
std::optional<LinearCost> nominal_line(const Machine& machine, const Placement& placement);

}  // namespace dlscale::model
