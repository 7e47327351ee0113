#include "suite/launch/launch_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <iterator>

#include "core/base/error.hpp"
#include "core/text/numbers.hpp"

namespace dlscale::suite {
namespace {

using Words = std::vector<std::string>;

std::string option(std::string_view name, int value) {
  return fmt::format("--{}={}", name, value);
}

/// The srun(1) command. --cpus-per-task is repeated, since steps do not inherit it from the job
/// since Slurm 22.05. A failing rank ends the others, which would wait for it.
Words srun_words(const LaunchShape& shape) {
  Words words{"srun",
              option("nodes", shape.nodes),
              option("ntasks", shape.ranks()),
              option("ntasks-per-node", shape.ranks_per_node),
              option("cpus-per-task", shape.threads),
              "--kill-on-bad-exit=1"};
  if (shape.gpus_per_rank > 0) words.push_back(option("gpus-per-task", shape.gpus_per_rank));
  return words;
}

/// The flux-run(1) command.
Words flux_words(const LaunchShape& shape) {
  Words words{"flux", "run", option("nodes", shape.nodes), option("ntasks", shape.ranks()),
              option("cores-per-task", shape.threads)};
  if (shape.gpus_per_rank > 0) words.push_back(option("gpus-per-task", shape.gpus_per_rank));
  return words;
}

/// The command of Open MPI's mpirun(1), which passes only named variables to other nodes.
Words mpirun_words(const LaunchPlace& place, const LaunchShape& shape,
                   const std::map<std::string, std::string>& variables) {
  Words words{place.mpi_launcher, "-n", std::to_string(shape.ranks())};
  if (!place.partition.hostfile.empty()) {
    words.insert(words.end(), {"--hostfile", place.partition.hostfile});
  }
  if (shape.nodes == 1 && place.partition.hostfile.empty()) return words;
  words.insert(words.end(), {"--map-by", fmt::format("ppr:{}:node", shape.ranks_per_node)});
  for (const auto& [name, value] : variables) {
    words.insert(words.end(), {"-x", value.empty() ? name : fmt::format("{}={}", name, value)});
  }
  return words;
}

/// The command of Hydra's mpiexec, which passes on the whole environment.
Words mpiexec_words(const LaunchPlace& place, const LaunchShape& shape) {
  Words words{place.mpi_launcher, "-n", std::to_string(shape.ranks())};
  if (!place.partition.hostfile.empty()) {
    words.insert(words.end(), {"-f", place.partition.hostfile});
  }
  if (shape.nodes > 1) {
    words.insert(words.end(), {"-ppn", std::to_string(shape.ranks_per_node)});
  }
  return words;
}

}  // namespace

std::string to_text(const LaunchShape& shape) {
  const std::string gpus =
      shape.gpus_per_rank > 0 ? counted(shape.gpus_per_rank, "GPU") + " and " : "";
  return fmt::format("{}, {} a node, {}{} a rank", counted(shape.nodes, "node"),
                     counted(shape.ranks_per_node, "rank"), gpus, counted(shape.threads, "thread"));
}

std::string shape_problem(const Partition& partition, const LaunchShape& shape) {
  const std::string has = fmt::format("the partition {} has", partition.name);
  if (shape.nodes > partition.nodes) {
    return fmt::format("{} {}", has, counted(partition.nodes, "node"));
  }
  const long long cores = 1LL * shape.ranks_per_node * shape.threads;
  if (partition.cores_per_node > 0 && cores > partition.cores_per_node) {
    return fmt::format("{} {} a node, not {}", has, counted(partition.cores_per_node, "core"),
                       cores);
  }
  const long long gpus = 1LL * shape.ranks_per_node * shape.gpus_per_rank;
  if (partition.devices_per_node > 0 && gpus > partition.devices_per_node) {
    return fmt::format("{} {} a node, not {}", has, counted(partition.devices_per_node, "GPU"),
                       gpus);
  }
  return {};
}

std::vector<std::string> launch_command(const LaunchPlace& place, const LaunchShape& shape,
                                        std::span<const std::string> program,
                                        const std::map<std::string, std::string>& variables) {
  const bool by_mpi = place.launcher == Launcher::mpirun || place.launcher == Launcher::mpiexec;
  const bool alone = by_mpi && shape.ranks() == 1 && place.partition.hostfile.empty();
  if (by_mpi && !alone && place.mpi_launcher.empty()) {
    throw Unsupported(
        fmt::format("{} need a launcher, and this build has no MPI. Install libopenmpi-dev and "
                    "openmpi-bin and build again.",
                    counted(shape.ranks(), "rank")));
  }
  Words words;
  if (!alone) {
    switch (place.launcher) {
      case Launcher::mpirun:
        words = mpirun_words(place, shape, variables);
        break;
      case Launcher::mpiexec:
        words = mpiexec_words(place, shape);
        break;
      case Launcher::srun:
        words = srun_words(shape);
        break;
      case Launcher::flux:
        words = flux_words(shape);
        break;
    }
    const Words& more = place.partition.launcher_options;
    words.insert(words.end(), more.begin(), more.end());
  }
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

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

}  // namespace dlscale::suite
