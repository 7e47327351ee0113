#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "train/exchange/collective_memory.hpp"
#include "train/exchange/exchange.hpp"

namespace dlscale::train {

/// Carries each message as a reduce-scatter, which leaves every rank the sum of an equal block, and
/// an all-gather of the blocks after all of them, as DeAR does. A few elements at the end that are
/// no equal blocks are all-reduced after the reduce-scatter, as a transfer of their own. Allocates
/// the blocks now: nothing within an iteration may wait for the device.
Carriage by_scattered_sum(CollectiveMemory gradients, std::size_t messages, int ranks);

/// Carries message i as a reduce to rank owners[i]. What other ranks hold afterwards is undefined.
Carriage by_reduce(CollectiveMemory gradients, std::vector<Rank> owners);

/// Hands out what the owner of a message has, by way of `staging`.
Transfer broadcast_bucket(backend::Communicator& communicator, Staging& staging, std::size_t bucket,
                          std::span<float> values, Rank owner);

}  // namespace dlscale::train
