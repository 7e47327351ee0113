#pragma once
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "train/data/data.hpp"
#include "train/exchange/exchange.hpp"
#include "train/trainer.hpp"

namespace dlscale::train {

/// The time from one instant to another.
inline Seconds elapsed(Instant from, Instant to) {
  return Seconds(std::chrono::duration<double>(to - from).count());
}

/// Spans relative to an origin.
class Timeline {
 public:
  explicit Timeline(Instant origin) : origin_(origin) {}

  void add(Span::Lane lane, std::string name, std::string what, Instant start, Instant end,
           double bytes = 0);
  /// Adds the pictures of a batch on the loader's lane.
  void add(const Batch& batch);
  std::vector<Span> take() { return std::exchange(spans_, {}); }

 private:
  Instant origin_;
  std::vector<Span> spans_;
};

}  // namespace dlscale::train
