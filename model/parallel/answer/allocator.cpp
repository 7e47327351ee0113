#include "model/parallel/answer/allocator.hpp"

#include <algorithm>

namespace dlscale::model::parallel_time {
MemoryNeed memory_need(const memory::RankMemory& memory, double device_bytes) {
  const int stage = memory.worst(memory::MemoryCounter::reserved).stage;
  return memory_need(memory.peak(stage, memory::MemoryCounter::reserved), memory.libraries,
                     device_bytes);
}

MemoryNeed memory_need(const memory::MemoryEstimate& reserved,
                       const memory::LibraryMemory& libraries, double device_bytes) {
  const double most = device_bytes - libraries.bytes;
  return {reserved.bytes / most, reserved.low / most};
}

MemoryWaits waits_for_memory(const WaitingConstants& constants, const Family& family,
                             const MemoryNeed& need) {
  MemoryWaits waits;
  if (need.low > constants.nearly_full) waits.most = constants.slow;
  if (family.frees_blocks && need.share > constants.full) {
    waits.likely = constants.likely;
    waits.most = std::max(waits.most, constants.most);
  }
  return waits;
}

}  // namespace dlscale::model::parallel_time
