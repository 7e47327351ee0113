#include "backend/host/topology.hpp"

#include <memory>

#include <fmt/format.h>
#include <hwloc.h>

#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

struct Destroy {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Handle = std::unique_ptr<hwloc_topology, Destroy>;

void check(int result, const char* call) {
  if (result < 0) throw LibraryError(fmt::format("{} failed on this machine.", call));
}

Handle load() {
  hwloc_topology_t raw = nullptr;
  check(hwloc_topology_init(&raw), "hwloc_topology_init");
  Handle topology(raw);
  check(hwloc_topology_load(raw), "hwloc_topology_load");
  return topology;
}

std::string processor_name(hwloc_topology_t topology) {
  hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
  hwloc_obj_t machine = hwloc_get_root_obj(topology);
  for (hwloc_obj_t object : {package, machine}) {
    if (object == nullptr) continue;
    const char* name = hwloc_obj_get_info_by_name(object, "CPUModel");
    if (name != nullptr && *name != '\0') return name;
  }
  return "unknown processor";
}

std::vector<HardwareThread> hardware_threads(hwloc_topology_t topology) {
  std::vector<HardwareThread> threads;
  for (hwloc_obj_t unit = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, nullptr);
       unit != nullptr; unit = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, unit)) {
    const hwloc_obj* core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, unit);
    const int number = static_cast<int>(unit->os_index);
    if (core == nullptr) {
      threads.push_back({number, static_cast<int>(unit->logical_index), 0});
      continue;
    }
    const hwloc_obj* first =
        hwloc_get_obj_inside_cpuset_by_type(topology, core->cpuset, HWLOC_OBJ_PU, 0);
    threads.push_back({number, static_cast<int>(core->logical_index),
                       static_cast<int>(unit->logical_index - first->logical_index)});
  }
  return threads;
}

/// Caches of the first hardware thread, between it and the machine.
std::vector<DataCache> data_caches(hwloc_topology_t topology) {
  std::vector<DataCache> caches;
  hwloc_obj_t object = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, 0);
  for (; object != nullptr; object = object->parent) {
    if (hwloc_obj_type_is_dcache(object->type) == 0) continue;
    const auto& cache = object->attr->cache;
    caches.push_back({.level = static_cast<int>(cache.depth),
                      .size = Bytes(static_cast<double>(cache.size)),
                      .line = Bytes(static_cast<double>(cache.linesize))});
  }
  return caches;
}

std::string version() {
  const unsigned number = hwloc_get_api_version();
  return fmt::format("hwloc API {}.{}.{}", number >> 16U, (number >> 8U) & 0xFFU, number & 0xFFU);
}

}  // namespace

Topology read_topology() {
  const Handle handle = load();
  return {
      .processor = processor_name(handle.get()),
      .source = version(),
      .threads = hardware_threads(handle.get()),
      .caches = data_caches(handle.get()),
  };
}

}  // namespace dlscale::backend
