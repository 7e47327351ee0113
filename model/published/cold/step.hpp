#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "core/base/units.hpp"
#include "model/published/cold/training.hpp"
#include "model/roofline/sheet/kernel_constants.hpp"
#include "model/roofline/sheet/step_times.hpp"

namespace dlscale::model::cold {

/// An iteration on one GPU by its data sheet.
struct OneGpuStep {
  Seconds forward;         ///< of all micro-batches
  Seconds backward;        ///< of all micro-batches
  Seconds update;          ///< also the sums of the gradients of micro-batches
  sheet::TimeRange range;  ///< 90 % of measured times, over total()
  /// Deviation of the logarithm of total() by what is not known of software and board.
  double doubt = 0;
  [[nodiscard]] Seconds total() const { return forward + backward + update; }
};

/// The iteration of a training, whose work is counted once:
///   t = n (forward + backward) + update + sums
/// for n micro-batches: forward and backward by sheet::StepTimes, update by sheet::update_time(),
/// and sums of gradients by sheet::accumulation_time(). Where several boards may be meant, each
/// part is the geometric mean of theirs, and half of their largest ratio widens the interval as
/// other doubts do. [derived from the parts]
class OneGpuTimes {
 public:
  explicit OneGpuTimes(ColdTraining training);
  [[nodiscard]] const ColdTraining& training() const { return training_; }
  /// The iteration by these constants.
  OneGpuStep step(const sheet::KernelConstants& constants);

 private:
  [[nodiscard]] OneGpuStep step_on(std::size_t board, const sheet::KernelConstants& constants);

  ColdTraining training_;
  std::unique_ptr<sheet::KernelConstants> constants_;  ///< those that times_ have now
  std::vector<sheet::StepTimes> times_;                ///< by board
  std::vector<Step> forward_;
  std::vector<Step> backward_;
};

}  // namespace dlscale::model::cold
