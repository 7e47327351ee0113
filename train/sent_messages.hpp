#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "train/exchange/exchange.hpp"
#include "train/trainer.hpp"

namespace dlscale::train {

/// The messages of consecutive iterations.
class MessageLog {
 public:
  /// Adds an iteration that began at `began` and posted its first message at `first_posted`.
  void begin(Instant began, Instant first_posted);
  /// Adds transfers, each once, in any order; layers[i] is the number of layers whose gradients or
  /// parameters message i holds. A transfer belongs to the last iteration that had posted its first
  /// message when the transfer started. This holds because an iteration posts nothing before all
  /// messages of the previous one have arrived. Transfers from before the first logged iteration
  /// are dropped.
  void add(std::span<const Transfer> transfers, std::span<const std::size_t> layers);
  /// Takes the messages of each iteration in the order in which they started. Empties the log.
  std::vector<std::vector<SentMessage>> take();

 private:
  struct Iteration {
    Instant began;
    Instant first_posted;
    std::vector<Transfer> transfers;
    std::vector<std::size_t> layers;  ///< by transfer
  };
  std::vector<Iteration> iterations_;
};

}  // namespace dlscale::train
