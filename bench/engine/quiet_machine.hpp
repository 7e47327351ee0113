#pragma once
#include <chrono>
#include <functional>

#include "backend/comm/communicator.hpp"
#include "bench/engine/speed_looks.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// Keeps measurements out of times when the machine is slower than it was at its best in this
/// process, by SpeedLooks. Collective.
class QuietMachine {
 public:
  /// Waits and has measured again for up to `patience` in all. `witness` tells what fixed work
  /// takes now: SpeedWitness. `communicator` outlives it.
  QuietMachine(backend::Communicator& communicator, Seconds patience,
               std::function<Seconds()> witness);

  /// Waits until the machine is quiet, patience is out or a signal came, and forgets what it saw
  /// before.
  void wait();
  /// To be called after the measurement that wait() came before. Whether it is to be measured
  /// again: the machine was slower before or after it, and there is patience left.
  [[nodiscard]] bool disturbed();
  /// Adds the series "witness" in s, what the work took before and after, rank by rank, and if that
  /// was not quiet the status unstable and a warning.
  void tell(Measurement& measurement) const;

 private:
  /// Whether rank 0, whose clock decides, has patience left.
  bool all_patient();

  backend::Communicator* communicator_;
  Seconds patience_;
  SpeedLooks looks_;                             ///< of this measurement
  std::chrono::steady_clock::time_point since_;  ///< when wait() ended
  Seconds waited_;                               ///< and measured in vain
};

}  // namespace dlscale::bench
