#pragma once
#include <string>
#include <string_view>

#include "core/results/measurement.hpp"
#include "regression/history/run.hpp"

namespace dlscale::report::history {

/// Points of a result file of dlscale, one for each measurement and series of times: of "e2e" the
/// iteration and its phases, of "comm" and replays "time", of all others every time but what only
/// witnesses how quiet the machine was. Measurements without times are left out and noted.
void add_points(ImportedRun& run, const ResultFile& file);

/// The result file that a history keeps; `name` stands in messages. Throws ConfigError.
ResultFile result_of(std::string_view content, const std::string& name);

/// What of a run's environment tells machines, environments and launches apart.
Facts machine_facts(const ResultHeader& header);
Facts environment_facts(const ResultHeader& header);
Facts launch_facts(const ResultHeader& header);
/// And what is of the run alone.
Facts run_facts(const ResultHeader& header);

/// The commit that was measured, with "-dirty" where there were local changes; empty: not known.
std::string measured_commit(const Environment& environment);

}  // namespace dlscale::report::history
