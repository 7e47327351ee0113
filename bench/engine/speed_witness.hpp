#pragma once
#include <cstdint>

#include "core/base/units.hpp"

namespace dlscale::bench {

/// Fixed work of a thread, about a millisecond of arithmetic in registers. It separates changes of
/// the processor's own speed (other programs, other guests of its host, clocks) from changes of the
/// measured code. The interval of a median cannot show that a machine is slow for minutes.
class SpeedWitness {
 public:
  SpeedWitness();
  /// Current time of the work: the least of three runs, as an interrupted run does not show the
  /// processor's speed.
  [[nodiscard]] Seconds time() const;

 private:
  [[nodiscard]] Seconds run() const;

  std::int64_t steps_ = 1024;
};

}  // namespace dlscale::bench
