#include "app/suite/launch/launcher_settings.hpp"

#include <unistd.h>

namespace dlscale::app {

/// Ranks bind themselves, so the launcher must not count slots. Open MPI has one slot for each
/// core, but a worker's share is in hardware threads; it would refuse 2 ranks on 1 core with 2
/// threads. Open MPI 4 reads OMPI_MCA_*, Open MPI 5 PRTE_MCA_*; other launchers read neither. Root
/// may launch (containers).
std::vector<std::pair<std::string, std::string>> launcher_settings() {
  std::vector<std::pair<std::string, std::string>> settings{
      {"OMPI_MCA_hwloc_base_binding_policy", "none"},
      {"PRTE_MCA_hwloc_default_binding_policy", "none"},
      {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
      {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
      // Seconds after Ctrl-C to end the iteration and write results (default: 1).
      {"OMPI_MCA_odls_base_sigkill_timeout", "3"},
      {"PRTE_MCA_odls_base_sigkill_timeout", "3"},
      {"OMPI_MCA_btl_base_warn_component_unused", "0"}};
  if (geteuid() == 0) {
    settings.emplace_back("OMPI_ALLOW_RUN_AS_ROOT", "1");
    settings.emplace_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  }
  return settings;
}

}  // namespace dlscale::app
