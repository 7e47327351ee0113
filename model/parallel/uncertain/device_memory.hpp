#pragma once
#include "core/cluster/device_file.hpp"
#include "model/memory/rank_memory.hpp"
#include "model/parallel/time/constants.hpp"

namespace dlscale::model::parallel_time {

/// Bytes of a device that a process can allocate: the sheet's gigabytes are gibibytes, less 0.5 %,
/// or 5 % from 100 GB up. [derived from cards that report it]
double usable_memory(const DeviceSheet& sheet);

/// Memory that the fullest rank reserves, with the low end of its 90 % interval, as shares of what
/// a device leaves beside libraries (1.2 GB: a context and communicators).
struct MemoryNeed {
  double share = 0;
  double low = 0;  ///< ≤ share
  /// Whether even the low end is above 0.95, so that the allocator slows the training.
  [[nodiscard]] bool nearly_fills() const { return low > 0.95; }
};
/// `device_bytes` > 1.2e9: usable_memory() of the device.
MemoryNeed memory_need(const memory::RankMemory& memory, double device_bytes);

/// Factor on the slow end of a time where memory nearly fills the device.
inline constexpr double slow_allocator = 1.6;

/// Whether the allocator waits for memory: the need is more than 0.97 of what the device leaves, in
/// a family whose allocator then gives blocks back and asks for them again. [derived: all 11
/// published trainings beyond it ran 1.5 to 6.2 times as long as without, in the mean 3 times]
bool waits_for_memory(const Family& family, const MemoryNeed& need);

}  // namespace dlscale::model::parallel_time
