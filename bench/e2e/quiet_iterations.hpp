#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "bench/engine/speed_looks.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// Tells the iterations of a training during which the machine was as fast as at its best from
/// those that something else slowed down. Nobody waits for a better time: pictures would be loaded
/// meanwhile; the training goes on until there are enough iterations that count.
class QuietIterations {
 public:
  /// Up to `patience` may be spent on iterations that do not count. As SpeedLooks.
  QuietIterations(backend::Communicator& communicator, Seconds patience,
                  std::function<Seconds()> witness);

  /// Collective: after the warm-up, and after each iteration from then on.
  void look();
  /// Collective, after look(): whether `wanted` iterations count or patience is out.
  [[nodiscard]] bool are_enough(std::size_t wanted);
  /// Of the iterations between looks, whether the machine was quiet before and after.
  [[nodiscard]] std::vector<bool> counted() const;
  /// Adds the series "witness" in s, rank by rank, what fixed work took before the first iteration
  /// and after each; and if fewer than `wanted` count, a doubt.
  void tell(Measurement& measurement, std::size_t wanted) const;

 private:
  backend::Communicator* communicator_;
  Seconds patience_;
  SpeedLooks looks_;
  std::vector<std::chrono::steady_clock::time_point> ends_;  ///< of looks
};

}  // namespace dlscale::bench
