#include "model/parallel/answer/allocator.hpp"

#include <algorithm>

namespace dlscale::model::parallel_time {
namespace {

constexpr double giga = 1e9;
constexpr double gib = 1024.0 * 1024 * 1024;
constexpr double library_bytes = 1.2e9;
constexpr double large_device = 100e9;  ///< from which more of the memory is kept back
constexpr double usable = 0.995;
constexpr double usable_of_large = 0.95;

}  // namespace

double usable_memory(const DeviceSheet& sheet) {
  const double printed = sheet.memory.si();
  return printed / giga * gib * (printed < large_device ? usable : usable_of_large);
}

MemoryNeed memory_need(const memory::RankMemory& memory, double device_bytes) {
  const int stage = memory.worst(memory::MemoryCounter::reserved).stage;
  return memory_need(memory.peak(stage, memory::MemoryCounter::reserved), device_bytes);
}

MemoryNeed memory_need(const memory::MemoryEstimate& reserved, double device_bytes) {
  const double most = device_bytes - library_bytes;
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
