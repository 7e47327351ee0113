#pragma once
#include <span>
#include <vector>

#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "core/run/run.hpp"

namespace dlscale::model {

/// Gradients, f32, of the tensors that a network trains, in the order in which programs make them:
/// first layer first, of each its weights, then its bias (of batch norm scale, then shift). Moving
/// averages and counts of steps are none: where a program gives those to servers by the same rule,
/// they take turns and places that are missing here.
std::vector<Bytes> parameter_tensors(const Network& network);

/// What of a message travels by itself, one after the other: the message, or by a rule that gives
/// out tensors each of them. What MXNet cuts counts once: its parts leave at the same time, carry
/// the same bytes over the same links, and hide each other's start-ups.
std::vector<Bytes> sent_apart(const Network& network, const Bucket& message, Sharding sharding);

/// Bytes of each server of a run, whose messages these are (shard_owners(),
/// core/collective/selection/parameter_servers.hpp).
std::vector<Bytes> owned_by_servers(const Network& network, std::span<const Bucket> messages,
                                    const Run& run);

/// Bytes of the server that owns most: all wait for its update.
Bytes most_owned(const Network& network, std::span<const Bucket> messages, const Run& run);

}  // namespace dlscale::model
