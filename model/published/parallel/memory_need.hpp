#pragma once
#include "core/cluster/device_file.hpp"
#include "model/published/parallel/training.hpp"

namespace dlscale::model::parallel_time {

/// Memory that the fullest rank of a training reserves, with its 90 % interval.
struct MemoryNeed {
  double share = 0;  ///< of what the device leaves beside libraries
  double low = 0;    ///< ≤ share
};
/// States are those of the family, since cases of times do not say them. Throws ConfigError.
MemoryNeed memory_need(const ParallelTraining& training, const DeviceSheet& device,
                       parallel::Recompute recompute);

}  // namespace dlscale::model::parallel_time
