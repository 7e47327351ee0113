#pragma once
#include <map>
#include <string>

namespace dlscale {

/// Where and with what a result was measured. Captured by program, never typed.
struct Environment {
  std::string date;       ///< UTC, ISO 8601
  std::string host_hash;  ///< of the host name: tells machines apart without naming them
  std::string cpu;
  int cores = 0;         ///< online
  std::string affinity;  ///< cores this process may use, "0-1"
  std::string kernel;
  std::string governor;  ///< cpufreq governor, or "unknown"
  /// What arithmetic makes of numbers too small for the usual form, on the thread that asks, whose
  /// settings those it starts inherit: "kept"; "flushed to zero", as results, "taken as zero", as
  /// operands, or both. Empty in older files.
  std::string denormals;
  double memory_bytes = 0;
  std::string compiler;
  std::string flags;
  std::string commit;  ///< of the source tree at configure time
  bool dirty = false;
  std::string load;                              ///< /proc/loadavg at start: a busy machine shows
  std::map<std::string, std::string> libraries;  ///< name → version, filled by the backends in use
  std::map<std::string, std::string>
      variables;  ///< OMP_*, OMPI_MCA_*, MPIR_CVAR_*, NCCL_*, DNNL_*, ONEDNN_*, DLSCALE_*
  /// What else there is to know of the machine, the scheduler's job and the build: capture_facts(),
  /// to which whoever measures adds those of devices. Empty in older files.
  std::map<std::string, std::string> facts;
};

Environment capture_environment();

}  // namespace dlscale
