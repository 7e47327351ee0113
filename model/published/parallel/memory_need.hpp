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

/// Whether the allocator waits for memory: the need is more than 0.97 of what the device leaves, in
/// a family whose allocator then gives blocks back and asks for them again. [derived: all 11
/// published trainings beyond it ran 1.5 to 6.2 times as long as without, in the mean 3 times]
bool waits_for_memory(const Family& family, const MemoryNeed& need);

}  // namespace dlscale::model::parallel_time
