#pragma once
#include <string>

#include "model/machine/machine.hpp"

namespace dlscale::model {

/// All that was fitted of a machine, for people: "906 kernel times, 2 update fits, 1 all_reduce
/// fit, 1 closed form of messages". "nothing" where there is none of it.
std::string fitted_text(const Machine& machine);

}  // namespace dlscale::model
