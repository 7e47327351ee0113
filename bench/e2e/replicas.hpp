#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "backend/comm/communicator.hpp"
#include "train/engine/program.hpp"

namespace dlscale::bench {

/// Which ranks have other parameters than the rest, in words, given a checksum of each rank's;
/// empty if all are equal. Of two ranks, and where no more than half agree, nobody knows who is
/// right: it names all.
std::string difference(std::span<const std::uint64_t> checksums);

/// What synchronous SGD keeps true: after an iteration all ranks have the same parameters, bit by
/// bit, for they began with the same and each added the same sum of gradients. Says which ranks do
/// not, as difference(); only the master values count, which all others follow from. Collective.
/// Call it when nothing is trained and nothing is on its way (Trainer::settle()).
std::string parameter_difference(backend::Communicator& communicator, train::Program& program);

}  // namespace dlscale::bench
