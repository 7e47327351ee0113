#pragma once
#include "core/base/error.hpp"
#include "model/published/cases/prediction.hpp"
#include "model/published/cases/scaling_case.hpp"

namespace dlscale::model::parallel_time {

/// Measured seconds of an iteration. Requires a measurement of a training (EXPECT).
inline double measured_seconds(const cases::ScalingCase& training,
                               const cases::Measured& measured) {
  EXPECT(measured.unit != cases::CaseUnit::time_s && measured.values.size() == 1);
  const double value = measured.values.front();
  return measured.unit == cases::CaseUnit::iteration_s ? value : training.global_batch / value;
}

}  // namespace dlscale::model::parallel_time
