#pragma once
#include <chrono>
#include <functional>

#include "backend/comm/communicator.hpp"
#include "bench/engine/speed_samples.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// Repeats measurements taken while the machine was slower than its best in this process, by
/// SpeedSamples. Collective.
class QuietMachine {
 public:
  /// Waits and repeats for up to `patience` in all. `witness` returns the current time of fixed
  /// work, as ReferenceWork does. `communicator` must outlive it.
  QuietMachine(backend::Communicator& communicator, Seconds patience,
               std::function<Seconds()> witness);

  /// Forgets earlier checks and waits until the machine is quiet, patience is exhausted or a signal
  /// comes.
  void wait();
  /// Whether the measurement since wait() must be repeated: the machine was slower before or after
  /// it, and patience is left. Call it after that measurement.
  [[nodiscard]] bool disturbed();
  /// Adds the series "witness" (s, by rank), the time of the work before and after the measurement.
  /// If the machine was not quiet, adds a warning and the status unstable.
  void tell(Measurement& measurement) const;

 private:
  /// Whether patience is left on rank 0, whose clock decides.
  bool all_patient();

  backend::Communicator* communicator_;
  Seconds patience_;
  SpeedSamples looks_;                           ///< of this measurement
  std::chrono::steady_clock::time_point since_;  ///< end of wait()
  Seconds waited_;                               ///< includes discarded measurements
};

/// Adds warnings about `threads` busy threads on every rank of this node to a row with times
/// (backend::host_warnings). Call it while threads are not bound to cores.
void add_host_warnings(Measurement& measurement, int threads,
                       const backend::Communicator& communicator);

/// Adds the same, and warnings about operands whose pages one thread touched first
/// (backend::memory_node_warnings).
void add_compute_warnings(Measurement& measurement, int threads,
                          const backend::Communicator& communicator);

}  // namespace dlscale::bench
