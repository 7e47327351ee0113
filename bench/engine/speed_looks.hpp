#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "core/base/units.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// Checks of the speed of all ranks' machines by fixed work on each (SpeedWitness).
class SpeedLooks {
 public:
  /// Largest excess over the work's least time, on any rank, that counts as quiet.
  static constexpr double tolerance = 0.08;

  /// `witness` returns the current time of fixed work. `communicator` must outlive it.
  SpeedLooks(backend::Communicator& communicator, std::function<Seconds()> witness);

  /// Collective: runs the witness on every rank.
  void look();
  /// Drops the checks but keeps their least times.
  void forget() { times_.assign(times_.size(), {}); }
  [[nodiscard]] std::size_t count() const { return times_.front().size(); }
  /// Time of the work in check 0 … count() − 1, relative to its least time, on the slowest rank.
  /// The least time is over all checks so far, including forgotten ones.
  [[nodiscard]] double slowdown(std::size_t look) const;
  [[nodiscard]] double slowest() const;  ///< over all checks; 1 if there are none
  [[nodiscard]] bool is_quiet(std::size_t look) const { return slowdown(look) <= 1 + tolerance; }
  [[nodiscard]] const std::vector<std::vector<double>>& times() const {  ///< by rank, s
    return times_;
  }

 private:
  backend::Communicator* communicator_;
  std::function<Seconds()> witness_;
  std::vector<double> least_;               ///< by rank, s
  std::vector<std::vector<double>> times_;  ///< by rank, s
};

/// Adds a warning with the text `what` to a measurement on a machine that was not quiet. If the
/// status is ok or unstable, adds it to the reason, too; ok becomes unstable.
void doubt_speed(Measurement& measurement, const std::string& what);

}  // namespace dlscale::bench
