#pragma once
#include <map>
#include <span>
#include <string>

#include "backend/comm/communicator.hpp"

namespace dlscale::backend {

/// Settings on which ranks agree before they work together: names, such as "--batch", and values.
using Settings = std::map<std::string, std::string>;

/// A sentence that names the settings which differ, their values, and the ranks of each value;
/// empty if all ranks have the same.
std::string difference_of_settings(std::span<const Settings> by_rank);

/// Collective. Throws FoundByAll (bad input) with difference_of_settings() if ranks differ. Such
/// ranks would wait for messages that others never send, or train apart and be counted as one run.
/// Costs one gathering of a digest; the settings travel only if it differs.
void expect_same_settings(Communicator& communicator, const Settings& mine);

}  // namespace dlscale::backend
