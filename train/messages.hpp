#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "core/network/merge.hpp"
#include "core/network/step.hpp"
#include "train/engine/program.hpp"
#include "train/trainer.hpp"

namespace dlscale::train {

/// A message and the step after which it may be sent.
struct Message {
  Bucket bucket;
  std::string name;
  std::size_t ready_after = 0;  ///< backward step
};

/// The messages of an iteration in the order in which backward completes them.
std::vector<Message> plan_messages(const Program& program, std::vector<Bucket> buckets);

/// Name of one layer, "fc6", or of several, "fc8 … fc6 (3 layers)".
std::string name_of(std::span<const Message> messages);

/// By message: number of layers whose gradients it holds.
std::vector<std::size_t> layers_in(std::span<const Message> messages);

std::vector<Bytes> sizes_of(Program& program, std::span<const Message> messages);

/// Throws ConfigError on all ranks unless they train the same parameters in the same layouts, with
/// the same messages and options. Collective.
void check_agreement(backend::Communicator& communicator, const Program& program,
                     std::span<const Message> messages, const TrainOptions& options);

/// Throws ConfigError unless the device supports the requested launch mode.
void check_launch(const Program& program, const TrainOptions& options);

}  // namespace dlscale::train
