#pragma once
#include <string>
#include <vector>

#include "core/config/system_file.hpp"

namespace dlscale::app {

/// One job: a command on the first of its nodes, which starts programs on all of them.
struct BatchJob {
  std::string name;
  int nodes = 1;
  int cores_per_node = 1;            ///< that the ranks of a node take together, at most
  int gpus_per_node = 0;             ///< likewise
  std::string node;                  ///< of Slurm: the only one that it may have; empty: any
  std::string log;                   ///< file for what the command says
  std::vector<std::string> command;  ///< words
  std::vector<std::string> options;  ///< of the command line, as job_option_lines() reads them
};

/// The script of a job as its scheduler reads it, with a partition's access options, environment
/// and commands before. The scheduler's signals reach the command itself, which takes the shell's
/// place. Access options are lines as they stand in the system file, in the scheduler's own quotes;
/// those of the command line come after them and win over the same option. Throws ConfigError for a
/// name that the scheduler cannot read, and as job_option_lines(). Requires a scheduler.
std::string batch_script(const System& system, const Partition& partition, const BatchJob& job);

/// The words that hand a script over: "sbatch script.sh". Requires a scheduler.
std::vector<std::string> submission(Scheduler scheduler, const std::string& script);

}  // namespace dlscale::app
