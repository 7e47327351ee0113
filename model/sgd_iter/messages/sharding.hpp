#pragma once
#include <span>
#include <vector>

#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "core/run/run.hpp"

namespace dlscale::model {

/// Gradients, f32, of the trained tensors in the order in which programs create them: first layer
/// first, for each its weights, then its bias (of batch norm scale, then shift). It excludes moving
/// averages and step counts: where a program gives those to servers by the same rule, their turns
/// and places are missing here.
std::vector<Bytes> parameter_tensors(const Network& network);

/// The parts of a message that travel separately, one after the other: the message, or each tensor
/// where the rule distributes tensors. MXNet's slices of a tensor count once: they leave at the
/// same time, carry the same bytes over the same links, and hide each other's start-ups.
std::vector<Bytes> sent_apart(const Network& network, const Bucket& message, Sharding sharding);

/// Bytes of each server of a run with these messages (shard_owners(),
/// core/collective/selection/parameter_servers.hpp).
std::vector<Bytes> owned_by_servers(const Network& network, std::span<const Bucket> messages,
                                    const Run& run);

/// Bytes of the server that owns most, for whose update all wait.
Bytes most_owned(const Network& network, std::span<const Bucket> messages, const Run& run);

}  // namespace dlscale::model
