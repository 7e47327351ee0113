#pragma once
#include "core/cluster/device_file.hpp"
#include "model/parallel/uncertain/device_memory.hpp"
#include "model/published/parallel/training.hpp"

namespace dlscale::model::parallel_time {

/// The need of a published training. States are those of the family, since cases of times do not
/// say them. Throws ConfigError.
MemoryNeed memory_need(const ParallelTraining& training, const DeviceSheet& device,
                       parallel::Recompute recompute);

}  // namespace dlscale::model::parallel_time
