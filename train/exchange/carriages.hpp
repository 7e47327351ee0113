#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "train/exchange/exchange.hpp"
#include "train/exchange/host_copies.hpp"

namespace dlscale::train {

/// Reduces each message by a reduce-scatter, which leaves every rank the sum of one equal block. An
/// all-gather of the blocks follows after all reduce-scatters, as in DeAR. The remainder that does
/// not fill equal blocks is all-reduced after the reduce-scatter, as a transfer of its own.
/// Allocates the blocks now, as an iteration must not wait for the device.
Carriage by_scattered_sum(CollectiveMemory gradients, std::size_t messages, int ranks);

/// Reduces message i to rank owners[i]. The contents on other ranks are undefined afterwards.
Carriage by_reduce(CollectiveMemory gradients, std::vector<Rank> owners);

/// Broadcasts the bucket from the owner of a message, through `staging`.
Transfer broadcast_bucket(backend::Communicator& communicator, Staging& staging, std::size_t bucket,
                          std::span<float> values, Rank owner);

}  // namespace dlscale::train
