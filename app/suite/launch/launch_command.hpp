#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/config/system_file.hpp"

namespace dlscale::app {

/// On what a program runs: the same on every node.
struct LaunchShape {
  int nodes = 1;
  int ranks_per_node = 1;
  int gpus_per_rank = 0;
  int threads = 1;  ///< cores of a rank
  [[nodiscard]] int ranks() const { return nodes * ranks_per_node; }
  bool operator==(const LaunchShape&) const = default;
};

/// "2 nodes, 4 ranks a node, 1 GPU and 8 threads a rank".
std::string to_text(const LaunchShape& shape);

/// Why a partition cannot run this shape; empty if it can.
std::string shape_problem(const Partition& partition, const LaunchShape& shape);

/// Where and by what programs are started.
struct LaunchPlace {
  Launcher launcher = Launcher::mpirun;
  Partition partition;
  std::string mpi_launcher;  ///< of this build's MPI; empty in a build without MPI
};

/// A command line that starts `program` on that shape, the ranks of a node one after another.
/// `variables` are to reach every rank; names without a value are those of this process. One rank
/// of this machine needs no launcher but a scheduler's. Throws Unsupported where mpirun or mpiexec
/// is wanted and this build has no MPI.
std::vector<std::string> launch_command(const LaunchPlace& place, const LaunchShape& shape,
                                        std::span<const std::string> program,
                                        const std::map<std::string, std::string>& variables);

}  // namespace dlscale::app
