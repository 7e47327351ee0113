#pragma once
#include <cstddef>
#include <string_view>

#include "backend/comm/communicator.hpp"
#include "core/base/units.hpp"

namespace dlscale::bench {

/// Four times the last-level cache, in whole lines of 64 bytes: an array of that size does not fit
/// in the caches [McCalpin, STREAM run rules]. 0 for an unknown cache.
std::size_t beyond_caches(Bytes last_level_cache);

/// Throws ConfigError if `bytes` of every rank exceed half of the memory of their shared node, as
/// it would measure swapping. `what` names their use: "--sizes has arrays of 4 GiB".
void expect_room(std::string_view what, double bytes, const backend::Communicator& communicator);

/// An eighth of the node's memory divided among its ranks, in bytes.
std::size_t memory_share(const backend::Communicator& communicator);

}  // namespace dlscale::bench
