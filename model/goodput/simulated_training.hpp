#pragma once
#include <cstdint>
#include <optional>

#include "model/goodput/checkpoints.hpp"

namespace dlscale::model::goodput {

/// A training whose failures are drawn at random.
struct TrainingRun {
  CheckpointedJob job;
  Seconds every;  ///< useful work between checkpoints, > 0 and ≥ write - stall
  Seconds work;   ///< useful time in all, > 0
  /// Failures that take a node out, ≤ job.failures_per_s; the others only restart the job.
  double node_failures_per_s = 0;
  Seconds repair;             ///< mean time until a failed node is back, ≥ 0
  std::optional<int> spares;  ///< absent: a spare is always there
};

/// The parts of one simulated training; useful + checkpoints + repeated + restarts + waiting is its
/// whole time.
struct SimulatedTraining {
  Seconds useful;
  Seconds checkpoints;
  Seconds repeated;  ///< work and checkpoints that failures undid
  Seconds restarts;
  Seconds waiting;  ///< for a repaired node
  std::int64_t failures = 0;
  [[nodiscard]] Seconds total() const {
    return useful + checkpoints + repeated + restarts + waiting;
  }
};

/// Simulates the training from failure to failure: a failure undoes all work since the last
/// checkpoint that counts. The failed node goes to repair, a spare replaces it if there is one,
/// else the job waits for the first node that returns. Times between failures and of repairs are
/// exponential; nothing fails while the job waits. The same seed gives the same training. Stops
/// after `most_failures` and returns the parts until then.
SimulatedTraining simulate_training(const TrainingRun& run, std::uint64_t seed,
                                    std::int64_t most_failures = 100'000'000);

}  // namespace dlscale::model::goodput
