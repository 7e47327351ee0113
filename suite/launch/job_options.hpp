#pragma once
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/system_file.hpp"

namespace dlscale::suite {

/// Scheduler options on the command line (-J), by the rules of ReFrame's option of that name
/// (reframe-hpc.readthedocs.io, manpage, "-J, --job-option"):
///   time=01:00:00    "--time=01:00:00"; one letter as "-t 01:00:00"
///   exclusive        "--exclusive"
///   --account=a b    begins with a dash: unchanged
///   #DW jobdw        begins with #: an unchanged line of the script
/// PBS has no options of several letters: there walltime=01:00:00 is "-l walltime=01:00:00".

/// The script lines for these options, with the scheduler's mark before them. Throws ConfigError
/// for an option that is empty, has several lines or is not an option. It also throws for options
/// that dlscale sets itself: nodes, partition and log of a job. Requires a scheduler.
std::vector<std::string> job_option_lines(Scheduler scheduler,
                                          std::span<const std::string> options);

/// The options that a line sets, without their values: "--time=1 -HC gpu" has "time", "H" and "C".
/// With PBS, "-l walltime=1,mem=2gb" has "l walltime" and "l mem".
std::set<std::string> options_in(Scheduler scheduler, std::string_view line);

}  // namespace dlscale::suite
