#pragma once
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
  [[nodiscard]] Seconds total() const { return forward + backward + update; }
};

/// t = n (forward + backward) + update + 12 (n - 1) P / (e_m B)
/// for n micro-batches: forward and backward by sheet::StepTimes, update by sheet::update_time().
/// Each micro-batch but the first reads its gradients and the sum of P f32 elements, and writes the
/// sum. [derived]
OneGpuStep one_gpu_step(const ColdTraining& training, const sheet::KernelConstants& constants);

}  // namespace dlscale::model::cold
