#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/system_file.hpp"

namespace dlscale::suite {

/// One job: a command on the first of its nodes that starts programs on all of them.
struct BatchJob {
  std::string name;
  int nodes = 1;
  int cores_per_node = 1;            ///< maximum that the ranks of a node use together
  int gpus_per_node = 0;             ///< maximum that the ranks of a node use together
  std::string node;                  ///< Slurm only: the single allowed node; empty: any
  std::string log;                   ///< file for the output of the command
  std::vector<std::string> command;  ///< words
  /// Options of the command line, as job_option_lines() reads them.
  std::vector<std::string> options;
};

/// The script of a job for its scheduler, with a partition's access options, environment and
/// commands before. The command replaces the shell, so the scheduler's signals reach it directly.
/// Access options are lines of the system file, in the scheduler's own quotes; options of the
/// command line come later and win. Throws ConfigError for a name that the scheduler cannot read,
/// and as job_option_lines() does. Requires a scheduler.
std::string batch_script(const System& system, const Partition& partition, const BatchJob& job);

/// The command that submits a script: "sbatch script.sh". Requires a scheduler.
std::vector<std::string> submission(Scheduler scheduler, const std::string& script);

/// The prefix of script lines that a scheduler reads: "#SBATCH". Requires a scheduler.
std::string_view directive_mark(Scheduler scheduler);

/// A word of such a line, quoted if necessary. The parsers of directives are Slurm's and PBS's own,
/// and Python's shlex for Flux. They accept both kinds of quotes, but differ in the meaning of a
/// backslash in them. Returns nothing for a word with a line break, a backslash or both kinds of
/// quotes.
std::optional<std::string> directive_word(const std::string& word);

}  // namespace dlscale::suite
