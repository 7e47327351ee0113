#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "core/base/units.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// Fixed work of a thread, about a millisecond of arithmetic in registers. It separates changes of
/// the processor's own speed (other programs, other guests of its host, clocks) from changes of the
/// measured code. The interval of a median cannot show that a machine is slow for minutes.
class ReferenceWork {
 public:
  ReferenceWork();
  /// Current time of the work: the least of three runs, as an interrupted run does not show the
  /// processor's speed.
  [[nodiscard]] Seconds time() const;

 private:
  [[nodiscard]] Seconds run() const;

  std::int64_t steps_ = 1024;
};

/// Checks of the speed of all ranks' machines by fixed work on each (ReferenceWork).
class SpeedSamples {
 public:
  /// Largest excess over the work's least time, on any rank, that counts as quiet.
  static constexpr double tolerance = 0.08;

  /// `witness` returns the current time of fixed work. `communicator` must outlive it.
  SpeedSamples(backend::Communicator& communicator, std::function<Seconds()> witness);

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
void warn_of_speed(Measurement& measurement, const std::string& what);

}  // namespace dlscale::bench
