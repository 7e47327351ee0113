#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "backend/comm/communicator.hpp"
#include "train/engine/program.hpp"

namespace dlscale::bench {

/// Describes the ranks whose parameters differ from the rest, given each rank's checksum; empty if
/// all are equal. Without a majority, as for two ranks, it names all.
std::string difference(std::span<const std::uint64_t> checksums);

/// Checks the invariant of synchronous SGD: after an iteration all ranks have bitwise equal
/// parameters, as they began equal and added the same sums. Describes ranks that differ, as
/// difference() does. It compares only the master values, from which all copies follow. Collective.
/// Call it when no training step or message is in flight (Trainer::settle()).
std::string parameter_difference(backend::Communicator& communicator, train::Program& program);

}  // namespace dlscale::bench
