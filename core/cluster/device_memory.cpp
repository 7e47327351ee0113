#include "core/cluster/device_memory.hpp"

namespace dlscale {
Bytes usable_memory(Bytes printed) {
  constexpr Bytes giga(1e9);
  constexpr double gib = 1024.0 * 1024 * 1024;
  constexpr double usable = 0.995;
  return Bytes(usable * gib * (printed / giga));
}

Bytes usable_memory(const Device& device) {
  const bool is_by_sheet = device.kind == DeviceKind::gpu && !device.sheet.empty();
  return is_by_sheet ? usable_memory(device.memory) : device.memory;
}

}  // namespace dlscale
