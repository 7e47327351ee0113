#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale {

/// Software that allocates nodes: none, or a scheduler with submitted jobs.
enum class Scheduler { none, slurm, flux, pbs };
std::string_view scheduler_name(Scheduler scheduler);

/// Command that starts the ranks of a program: mpirun of Open MPI, Hydra's mpiexec (MPICH, MVAPICH,
/// Intel MPI), or the launcher of a scheduler.
enum class Launcher { mpirun, mpiexec, srun, flux };
std::string_view launcher_name(Launcher launcher);

/// Nodes of one kind, as a scheduler or a list of hosts offers them.
struct Partition {
  std::string name;
  std::vector<std::string> access;  ///< options for submission: "-A physics"
  int nodes = 1;                    ///< number of nodes
  int cores_per_node = 0;           ///< cores that ranks may use; 0: all cores of the node
  int devices_per_node = 0;         ///< GPUs
  int max_jobs = 0;                 ///< maximum number of submitted jobs; 0: unlimited
  std::string time_limit;  ///< time limit of a job, in the scheduler's format; empty: its default
  std::string hostfile;    ///< list of nodes without a scheduler
  std::vector<std::string> launcher_options;       ///< options for the launcher: "-n 1"
  std::vector<std::string> prepare;                ///< commands of a job before all others
  std::map<std::string, std::string> environment;  ///< environment variables of all programs there
};

/// How programs are started on a machine of several nodes: configs/systems/<name>.yaml.
/// core/cluster/cluster.hpp describes its hardware.
struct System {
  std::string name;
  std::string doc;
  Scheduler scheduler = Scheduler::none;
  Launcher launcher = Launcher::mpirun;
  std::vector<Partition> partitions;  ///< at least one; the first is the default
};

/// A system of configs/systems, or of a YAML file. Throws ConfigError, which names file and place,
/// for unknown and missing keys, values out of range, and settings that have no effect or cannot
/// work with this scheduler or launcher.
System load_system(std::string_view name);

/// The partition of that name; the first one for an empty name. Throws ConfigError, which lists the
/// partitions.
const Partition& find_partition(const System& system, std::string_view name);

}  // namespace dlscale
