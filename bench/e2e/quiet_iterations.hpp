#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "bench/engine/speed_looks.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// Separates iterations in which the machine ran at its best speed from those that something else
/// slowed down. It does not pause for a quieter machine, as pictures would be loaded meanwhile.
/// Training continues until enough iterations count.
class QuietIterations {
 public:
  /// `patience` limits the time of iterations that do not count. The other arguments are those of
  /// SpeedLooks.
  QuietIterations(backend::Communicator& communicator, Seconds patience,
                  std::function<Seconds()> witness);

  /// Collective: checks the speed after the warm-up and after each later iteration.
  void look();
  /// Collective, after look(): whether `wanted` iterations count or patience is exhausted.
  [[nodiscard]] bool are_enough(std::size_t wanted);
  /// Whether the machine was quiet before and after each iteration between two checks.
  [[nodiscard]] std::vector<bool> counted() const;
  /// Adds the series "witness" (s, by rank), the time of fixed work before the first iteration and
  /// after each. Adds a warning if fewer than `wanted` iterations count.
  void tell(Measurement& measurement, std::size_t wanted) const;

 private:
  backend::Communicator* communicator_;
  Seconds patience_;
  SpeedLooks looks_;
  std::vector<std::chrono::steady_clock::time_point> ends_;  ///< end of each check
};

}  // namespace dlscale::bench
