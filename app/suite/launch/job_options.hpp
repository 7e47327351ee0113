#pragma once
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/system_file.hpp"

namespace dlscale::app {

/// Options for a scheduler that stand on the command line (-J), by the rules of ReFrame's option of
/// that name (reframe-hpc.readthedocs.io, manpage, "-J, --job-option"):
///   time=01:00:00    "--time=01:00:00"; one letter as "-t 01:00:00"
///   exclusive        "--exclusive"
///   --account=a b    begins with a dash: as it stands
///   #DW jobdw        begins with #: a line of the script as it stands
/// PBS has no options of several letters: there walltime=01:00:00 is "-l walltime=01:00:00".

/// The lines of a script that they become, with the scheduler's mark before them. Throws
/// ConfigError for what is empty, of several lines, no option, or has to be as dlscale says: nodes,
/// partition and log of a job. Requires a scheduler.
std::vector<std::string> job_option_lines(Scheduler scheduler,
                                          std::span<const std::string> options);

/// The options that a line sets, without their values: "--time=1 -HC gpu" has "time", "H" and "C";
/// of PBS
/// "-l walltime=1,mem=2gb" has "l walltime" and "l mem".
std::set<std::string> options_in(Scheduler scheduler, std::string_view line);

}  // namespace dlscale::app
