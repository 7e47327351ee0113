#pragma once
#include <string>

#include "model/machine/machine.hpp"

namespace dlscale::model {

/// A summary for people of everything that was fitted: "906 kernel times, 2 update fits, 1
/// all_reduce fit, 1 closed form of messages"; "nothing" if nothing was fitted.
std::string fitted_text(const Machine& machine);

}  // namespace dlscale::model
