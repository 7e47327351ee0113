#include "core/cluster/device_memory.hpp"

namespace dlscale {
namespace {

constexpr double gib = 1024.0 * 1024 * 1024;

}  // namespace

Bytes usable_memory(Bytes printed) {
  constexpr Bytes giga(1e9);
  constexpr double usable = 0.995;
  return Bytes(usable * gib * (printed / giga));
}

Bytes usable_memory(const Device& device) {
  const bool is_by_sheet = device.kind == DeviceKind::gpu && !device.sheet.empty();
  return is_by_sheet ? usable_memory(device.memory) : device.memory;
}

LibraryMemory library_memory(int axes) {
  return {.bytes = (0.5 + 0.8 * axes) * gib,
          .low = (0.3 + 0.2 * axes) * gib,
          .high = (1.0 + 1.5 * axes) * gib};
}

}  // namespace dlscale
