#pragma once
#include <filesystem>
#include <optional>

namespace dlscale::app {

/// The time of all processors since the machine was started, in ticks of the kernel (proc(5)).
struct CpuTicks {
  double all = 0;
  double stolen = 0;  ///< that a hypervisor gave to others while this machine had work
};

/// Of a tree that looks like /; nothing where /proc/stat does not tell.
std::optional<CpuTicks> read_cpu_ticks(const std::filesystem::path& root);

}  // namespace dlscale::app
