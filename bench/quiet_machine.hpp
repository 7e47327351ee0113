#pragma once
#include <chrono>
#include <functional>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "core/measurement.hpp"

namespace dlscale::bench {

/// Keeps measurements out of times when the machine is slower than it was at its best in this
/// process, by a SpeedWitness on every rank. Collective.
class QuietMachine {
 public:
  /// More than this over the least time of the work, on any rank, is not quiet.
  static constexpr double tolerance = 0.08;

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
  /// Asks the witness of every rank; how many times the least it took on the slowest.
  double look();
  [[nodiscard]] bool patient() const { return waited_ < patience_; }

  backend::Communicator* communicator_;
  Seconds patience_;
  std::function<Seconds()> witness_;
  std::vector<double> least_;               ///< by rank, s
  std::vector<std::vector<double>> times_;  ///< of this measurement, by rank, s
  double slowdown_ = 1;
  std::chrono::steady_clock::time_point since_;  ///< when wait() ended
  Seconds waited_;                               ///< and measured in vain
};

}  // namespace dlscale::bench
