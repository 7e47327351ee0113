#pragma once
#include "core/units.hpp"
#include "model/scaling/facts.hpp"
#include "model/scaling/parameters.hpp"

namespace dlscale::model::scaling {

/// The iteration at the number of GPUs asked, as disjoint parts that add up to total.
struct ScaledTime {
  Seconds compute = {};        ///< of one GPU at the batch asked: t_c
  Seconds transfer = {};       ///< communication that computing does not hide
  Seconds interference = {};   ///< what hidden communication costs computing
  Seconds copies = {};         ///< of gradients to and from their buffers
  Seconds waiting = {};        ///< for the slowest of the workers
  Seconds host = {};           ///< update and input that the given point is without
  Seconds communication = {};  ///< all of it, hidden too; no part of the sum
  Seconds total = {};
  /// Share of total that is not what the given point says: 1 - compute at the given batch scaled
  /// in proportion to the batch / total, within [0, 0.95].
  double overhead = 0;
};

/// A training with all that does not depend on parameters: message lists of the asked number.
/// Times are by arithmetic only, some microseconds each.
class ScalingModel {
 public:
  explicit ScalingModel(TrainingFacts facts);
  [[nodiscard]] const TrainingFacts& facts() const { return facts_; }
  [[nodiscard]] ScaledTime time(const Parameters& parameters) const;

 private:
  TrainingFacts facts_;
  // The owner of this file adds what it prepares.
};

}  // namespace dlscale::model::scaling
