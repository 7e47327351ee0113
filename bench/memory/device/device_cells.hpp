#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/engine/benchmark.hpp"
#include "bench/memory/device/device_probe.hpp"

namespace dlscale::bench {

/// Measurements of a device. Each operation uses the lists that apply to it.
struct DeviceSelection {
  std::vector<std::string> operations;
  std::vector<std::size_t> array_bytes;       ///< copy, scale, add, triad
  std::vector<std::size_t> chase_bytes;       ///< chase
  std::vector<std::size_t> strides;           ///< chase, levels; bytes
  std::vector<backend::ChasePath> paths;      ///< chase, levels
  std::vector<int> bank_strides;              ///< bank_latency, bank_throughput; words
  std::vector<int> kernels;                   ///< launch, launch_synchronised, launch_graph
  std::vector<std::size_t> copy_bytes;        ///< h2d, d2h, d2d
  std::vector<backend::HostMemory> memories;  ///< h2d, d2h
  std::vector<backend::ConcurrentWork> concurrent_works;  ///< h2d, d2h, d2d
};

std::string_view path_name(backend::ChasePath path);
std::string_view memory_name(backend::HostMemory memory);
std::string_view concurrent_work_name(backend::ConcurrentWork concurrent);
/// These throw ConfigError listing the known names.
backend::ChasePath parse_path(std::string_view name);
backend::HostMemory parse_memory(std::string_view name);
backend::ConcurrentWork parse_concurrent_work(std::string_view name);

/// One cell for every combination of the lists that apply to an operation. `backend` is its name in
/// the rows. Throws ConfigError for an unknown operation, and for sizes that exceed the device's
/// memory.
std::vector<Cell> device_cells(const std::shared_ptr<ProbeContext>& probe_context,
                               std::string_view backend, const DeviceSelection& selection,
                               const backend::Communicator& communicator);

}  // namespace dlscale::bench
