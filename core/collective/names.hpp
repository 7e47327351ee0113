#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/collective/algorithm.hpp"

namespace dlscale::collective {

/// The collective of that name; empty for another word.
std::optional<Collective> collective_named(std::string_view name);

/// The names of all collectives, in their order.
std::vector<std::string> collective_names();

}  // namespace dlscale::collective
