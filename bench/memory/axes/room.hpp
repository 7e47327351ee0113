#pragma once
#include <cstddef>
#include <string_view>

#include "backend/comm/communicator.hpp"

namespace dlscale::bench {

/// Throws ConfigError if `bytes` of every rank exceed half of the memory of their shared node, as
/// it would measure swapping. `what` names their use: "--sizes has arrays of 4 GiB".
void expect_room(std::string_view what, double bytes, const backend::Communicator& communicator);

/// An eighth of the node's memory divided among its ranks, in bytes.
std::size_t memory_share(const backend::Communicator& communicator);

}  // namespace dlscale::bench
