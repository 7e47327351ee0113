#pragma once
#include <cstdint>

#include "core/base/units.hpp"

namespace dlscale::bench {

/// Fixed work of a thread, about a millisecond of arithmetic in registers, by which a change of the
/// processor's own speed (other programs, other guests of its host, clocks) is told from one of
/// what is measured: no interval of a median shows a machine that is slow for minutes.
class SpeedWitness {
 public:
  SpeedWitness();
  /// What the work takes now: the least of three runs, since one that the system interrupts tells
  /// nothing of the processor.
  [[nodiscard]] Seconds time() const;

 private:
  [[nodiscard]] Seconds run() const;

  std::int64_t steps_ = 1024;
};

}  // namespace dlscale::bench
