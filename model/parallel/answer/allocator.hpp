#pragma once
#include "model/memory/rank_memory.hpp"
#include "model/parallel/time/constants.hpp"

namespace dlscale::model::parallel_time {

/// Memory that the fullest rank reserves, with the low end of its 90 % interval, as shares of what
/// a device leaves beside libraries (memory::library_memory()).
struct MemoryNeed {
  double share = 0;
  double low = 0;  ///< ≤ share
};
/// `device_bytes`: usable_memory() of the device, more than those of libraries.
MemoryNeed memory_need(const memory::RankMemory& memory, double device_bytes);
/// The same from what that rank reserves.
MemoryNeed memory_need(const memory::MemoryEstimate& reserved,
                       const memory::LibraryMemory& libraries, double device_bytes);

/// Factors on the time of an iteration by waits for memory, 1 ≤ least ≤ likely ≤ most: on the low
/// end of its interval, on itself, and on the high end.
struct MemoryWaits {
  double least = 1;
  double likely = 1;
  double most = 1;
  /// The same waits where a measurement has decided them.
  [[nodiscard]] MemoryWaits decided() const { return {likely, likely, likely}; }
};

/// An allocator may slow a training whose need has a low end above `nearly_full`. One of a family
/// that frees blocks gives blocks back in each micro-batch, and asks for them again, from a need of
/// `full` on: the iteration then takes `likely` times as long, and at most about `most` times.
/// [derived from the 11 published trainings that did, docs/explanation/parallel-scores.md]
MemoryWaits waits_for_memory(const WaitingConstants& constants, const Family& family,
                             const MemoryNeed& need);

}  // namespace dlscale::model::parallel_time
