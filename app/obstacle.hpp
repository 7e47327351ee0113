#pragma once
#include <string>

#include "backend/comm/communicator.hpp"
#include "backend/compute/compute.hpp"

namespace dlscale::app {

/// Why a member that is in this build cannot be used on this machine; empty if it can. That of a
/// compute backend opens its device.
std::string obstacle(const backend::ComputeBackend& member);
std::string obstacle(const backend::CommBackend& member);

}  // namespace dlscale::app
