#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "train/exchange/exchange.hpp"
#include "train/trainer.hpp"

namespace dlscale::train {

/// What was sent in iterations that follow each other.
class MessageLog {
 public:
  /// An iteration that began at `began` and posted its first message at `first_posted`.
  void begin(Instant began, Instant first_posted);
  /// What travelled, once each, in any order; layers[i]: of how many layers message i carries
  /// gradients or parameters. It belongs to the last iteration that had posted its
  /// first message when it started: an iteration posts none before all of the one before have
  /// arrived. What started before the first of the log is left out.
  void add(std::span<const Transfer> transfers, std::span<const std::size_t> layers);
  /// The messages of each iteration in the order in which they started; the log is empty
  /// afterwards.
  std::vector<std::vector<SentMessage>> take();

 private:
  struct Iteration {
    Instant began;
    Instant first_posted;
    std::vector<Transfer> transfers;
    std::vector<std::size_t> layers;  ///< of each transfer
  };
  std::vector<Iteration> iterations_;
};

}  // namespace dlscale::train
