#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "core/parallel/schedule/family.hpp"
#include "core/parallel/schedule/schedule.hpp"
#include "model/parallel/pipeline/rounds.hpp"
#include "model/parallel/pipeline/simulation.hpp"

namespace dlscale::model {

/// Pieces (parts × micro-batches) that one makespan simulates, beyond which rounds that repeat
/// themselves are left out: a millisecond.
inline constexpr double usual_pieces = 16'384;

/// A makespan, and how it was found.
struct Makespan {
  Seconds time;
  int simulated = 0;  ///< micro-batches that were simulated; 0: by an exact closed form
};

/// Makespans of pipelines of one shape under different costs, as simulate() has them.
///
/// Let x be the times at the end of a round (rounds_of()): the end of each rank's last operation,
/// and the arrival of messages under way. A round takes x to A(x), by maxima and sums alone, so
///   A(x + c) = A(x) + c    and    |A(x) - A(y)| ≤ |x - y|, the largest difference of any element.
/// If p rounds add between d - e and d + e to every element, then q times as many add q d, and at
/// most q e more or less. Rounds are simulated until q e is below 10^-10 of the makespan. Those
/// that are left take q d. So the makespan is simulate()'s but for that. [derived; p is a period of
/// a max-plus linear system, as in Baccelli et al., Synchronization and Linearity, 1992]
///
/// Lists of other schedules, which do not repeat themselves, are simulated to the end.
class Makespans {
 public:
  /// Requires that obstacle() is empty, and most_pieces > 0.
  Makespans(const parallel::PipelineSchedule& schedule, const parallel::PipelineShape& shape,
            double most_pieces = usual_pieces);

  /// Requires costs as simulate() does.
  [[nodiscard]] Makespan find(const PipelineCosts& costs) const;
  [[nodiscard]] Seconds of(const PipelineCosts& costs) const { return find(costs).time; }

 private:
  void list_rounds();
  [[nodiscard]] Makespan by_rounds(const PipelineCosts& costs) const;

  const parallel::PipelineSchedule* schedule_;
  parallel::PipelineShape shape_;
  std::optional<parallel::Schedule> list_;  ///< of all micro-batches, or of fewer with `rounds_`
  std::optional<Rounds> rounds_;
};

}  // namespace dlscale::model
