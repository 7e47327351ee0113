#pragma once
#include <span>
#include <vector>

#include "train/exchange.hpp"
#include "train/trainer.hpp"

namespace dlscale::train {

/// What was sent in iterations that follow each other.
class MessageLog {
 public:
  /// An iteration that began at `began` and what travelled in it. What was posted in an earlier one
  /// goes there; what was posted before the first of the log is left out.
  void add(Instant began, std::span<const Transfer> transfers);
  /// The messages of each iteration in the order in which they began; the log is empty afterwards.
  std::vector<std::vector<SentMessage>> take();

 private:
  struct Iteration {
    Instant began;
    std::vector<Transfer> transfers;
  };
  std::vector<Iteration> iterations_;
};

}  // namespace dlscale::train
