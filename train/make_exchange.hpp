#pragma once
#include <memory>
#include <span>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "train/engine/program.hpp"
#include "train/exchange/exchange.hpp"
#include "train/messages.hpp"
#include "train/trainer.hpp"

namespace dlscale::train {

/// By message: the rank that owns its parameters; empty without a parameter server. Requires
/// Sharding::largest_first, as messages are not cut.
std::vector<Rank> owners_of(Program& program, std::span<const Message> messages,
                            const TrainOptions& options, int ranks);

/// The exchange for a program's gradients as the options choose it, with its own communicator.
/// Sends nothing yet. Not for the sequential schedule, which has none.
std::unique_ptr<Exchange> make_exchange(Program& program,
                                        std::unique_ptr<backend::Communicator> own,
                                        std::span<const Message> messages,
                                        const TrainOptions& options);

}  // namespace dlscale::train
