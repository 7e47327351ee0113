#pragma once
#include <map>
#include <string>

#include "core/base/units.hpp"

namespace dlscale {

/// Circumstances of a measurement. Captured by the program, never typed.
struct Environment {
  std::string date;       ///< UTC, ISO 8601
  std::string host_hash;  ///< hash of the host name: distinguishes machines without naming them
  std::string cpu;
  int cores = 0;         ///< online
  std::string affinity;  ///< cores this process may use, "0-1"
  std::string kernel;
  std::string governor;  ///< cpufreq governor, or "unknown"
  /// Treatment of denormal numbers on the calling thread; threads that it starts inherit it.
  /// "kept"; "flushed to zero" for results, "taken as zero" for operands, or both. Empty in older
  /// files.
  std::string denormals;
  double memory_bytes = 0;
  std::string compiler;
  std::string flags;
  std::string commit;  ///< commit of the source tree at configure time
  bool dirty = false;
  std::string load;                              ///< /proc/loadavg at start; shows a busy machine
  std::map<std::string, std::string> libraries;  ///< name → version, filled by the backends in use
  std::map<std::string, std::string>
      variables;  ///< OMP_*, OMPI_MCA_*, MPIR_CVAR_*, NCCL_*, DNNL_*, ONEDNN_*, DLSCALE_*
  /// Further facts about the machine, the scheduler's job and the build: capture_facts(), to which
  /// benchmarks add those of devices. Empty in older files.
  std::map<std::string, std::string> facts;
};

Environment capture_environment();

/// Physical memory of this node, as the system reports it.
Bytes physical_memory();

}  // namespace dlscale
