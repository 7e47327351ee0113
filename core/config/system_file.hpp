#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale {

/// Who hands out nodes: nobody, or a scheduler to which jobs are submitted.
enum class Scheduler { none, slurm, flux, pbs };
std::string_view scheduler_name(Scheduler scheduler);

/// What starts the ranks of a program: mpirun of Open MPI, Hydra's mpiexec (MPICH, MVAPICH, Intel
/// MPI), or the launcher of a scheduler.
enum class Launcher { mpirun, mpiexec, srun, flux };
std::string_view launcher_name(Launcher launcher);

/// Nodes of one kind, as a scheduler or a list of hosts offers them.
struct Partition {
  std::string name;
  std::vector<std::string> access;  ///< options of a submission: "--account=physics"
  int nodes = 1;                    ///< that there are
  int cores_per_node = 0;           ///< that ranks may use; 0: as many as the node has
  int devices_per_node = 0;         ///< GPUs
  int max_jobs = 0;                 ///< submitted at a time; 0: as many as there are
  std::string time_limit;           ///< of a job, as the scheduler reads it; empty: its own
  std::string hostfile;             ///< lists the nodes where no scheduler does
  std::vector<std::string> launcher_options;       ///< given to the launcher: "--mpi=pmix"
  std::vector<std::string> prepare;                ///< commands of a job before all others
  std::map<std::string, std::string> environment;  ///< of all that runs there
};

/// How programs are started on a machine of several nodes: configs/systems/<name>.yaml. Its
/// hardware stands elsewhere (core/cluster/cluster.hpp).
struct System {
  std::string name;
  std::string doc;
  Scheduler scheduler = Scheduler::none;
  Launcher launcher = Launcher::mpirun;
  std::vector<Partition> partitions;  ///< at least one; the first is the default
};

/// A system of configs/systems, or of a YAML file. Throws ConfigError naming file and place:
/// unknown and missing keys, values out of range, and what would have no effect or could not work
/// with this scheduler or launcher.
System load_system(std::string_view name);

/// The partition of that name; the first for an empty one. Throws ConfigError naming those there
/// are.
const Partition& find_partition(const System& system, std::string_view name);

}  // namespace dlscale
