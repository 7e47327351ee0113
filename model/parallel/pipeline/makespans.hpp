#pragma once
#include <vector>

#include "core/parallel/schedule/family.hpp"
#include "core/parallel/schedule/schedule.hpp"
#include "model/parallel/pipeline/simulation.hpp"

namespace dlscale::model {

/// Pieces (parts × micro-batches) that one makespan simulates, beyond which fewer micro-batches
/// stand for all: a millisecond.
inline constexpr double usual_pieces = 16'384;

/// Makespans of pipelines of one shape under different costs, as simulate() has them.
///
/// Once a pipeline is full, it repeats itself after as many micro-batches as it has stages S. So
/// many micro-batches m are simulated as n = m mod S + a S and as n + a S, and their line goes on
/// to m, with a ≥ 2 by `most_pieces`. [D] Exact for gpipe, and 1f1b of equal parts. Wrong, and
/// mostly too low, where a second chain of operations outruns the slowest one only after n + a S
/// micro-batches: below 4 · 10^-3 of the makespan for parts that are alike but for the head. A few
/// interleaved ones with long messages, and parts that differ by 30 % at random, have shown
/// 2 · 10^-2.
class Makespans {
 public:
  /// Requires that obstacle() is empty, and most_pieces > 0.
  Makespans(const parallel::PipelineSchedule& schedule, const parallel::PipelineShape& shape,
            double most_pieces = usual_pieces);

  /// Requires costs as simulate() does.
  [[nodiscard]] Seconds of(const PipelineCosts& costs) const;

  /// Micro-batches that are simulated, ascending: all, or two smaller numbers.
  [[nodiscard]] std::vector<int> simulated() const;

 private:
  int micro_batches_;
  std::vector<parallel::Schedule> lists_;  ///< of the smaller number first
};

}  // namespace dlscale::model
