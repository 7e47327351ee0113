#pragma once
#include <cstddef>
#include <string_view>

#include "backend/comm/communicator.hpp"

namespace dlscale::bench {

/// Throws ConfigError if `bytes` of every rank are more than half of the memory of the node they
/// share: swapping would be measured. `what` asks for them: "--sizes has arrays of 4 GiB".
void expect_room(std::string_view what, double bytes, const backend::Communicator& communicator);

/// An eighth of the memory of the node, shared by its ranks; in bytes.
std::size_t memory_share(const backend::Communicator& communicator);

}  // namespace dlscale::bench
