#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "core/base/units.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// How fast the machines of all ranks were, look by look, told by fixed work on each
/// (SpeedWitness).
class SpeedLooks {
 public:
  /// More than this over the least time of the work, on any rank, is not quiet.
  static constexpr double tolerance = 0.08;

  /// `witness` tells what fixed work takes now. `communicator` outlives it.
  SpeedLooks(backend::Communicator& communicator, std::function<Seconds()> witness);

  /// Collective: asks the witness of every rank.
  void look();
  void forget() { times_.assign(times_.size(), {}); }  ///< the looks, but not the best of them
  [[nodiscard]] std::size_t count() const { return times_.front().size(); }
  /// How many times its least the work took at look 0 … count() − 1, on the rank where it took
  /// longest; the least of all looks so far, forgotten ones included.
  [[nodiscard]] double slowdown(std::size_t look) const;
  [[nodiscard]] double slowest() const;  ///< of all looks; 1 of none
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

/// Adds to what was measured on a machine that was not quiet a warning that says `what` was not,
/// and to a status that was ok or unstable the same as reason; ok becomes unstable.
void doubt_speed(Measurement& measurement, const std::string& what);

}  // namespace dlscale::bench
