#pragma once
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/config/system_file.hpp"

namespace dlscale::suite {

/// The resources of a launch, equal on every node.
struct LaunchShape {
  int nodes = 1;
  int ranks_per_node = 1;
  int gpus_per_rank = 0;
  int threads = 1;  ///< cores per rank
  [[nodiscard]] int ranks() const { return nodes * ranks_per_node; }
  bool operator==(const LaunchShape&) const = default;
};

/// "2 nodes, 4 ranks a node, 1 GPU and 8 threads a rank".
std::string to_text(const LaunchShape& shape);

/// The reason why a partition cannot run this shape; empty if it can.
std::string shape_problem(const Partition& partition, const LaunchShape& shape);

/// The launcher and partition that start programs.
struct LaunchPlace {
  Launcher launcher = Launcher::mpirun;
  Partition partition;
  std::string mpi_launcher;  ///< launcher of this build's MPI; empty in a build without MPI
};

/// A command line that starts `program` on that shape, with consecutive ranks on each node.
/// `variables` reach every rank; a name without a value passes on this process's value. One rank on
/// this machine needs a launcher only under a scheduler. Throws Unsupported if mpirun or mpiexec is
/// requested and this build has no MPI.
std::vector<std::string> launch_command(const LaunchPlace& place, const LaunchShape& shape,
                                        std::span<const std::string> program,
                                        const std::map<std::string, std::string>& variables);

/// Environment variables that a suite sets for MPI's launchers; values set by the user win
/// (run_child).
std::vector<std::pair<std::string, std::string>> launcher_settings();

}  // namespace dlscale::suite
