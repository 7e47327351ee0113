#pragma once
#include <string>

#include "core/results/measurement.hpp"
#include "regression/history/run.hpp"

namespace dlscale::regression::history {

/// Adds one point for each measurement and series of times of a dlscale result file. "e2e" yields
/// the iteration and its phases; "comm" and replays yield "time"; others yield all times except the
/// witnesses of a quiet machine. Measurements without times are left out and noted.
void add_points(ImportedRun& run, const ResultFile& file);

/// Facts of a run that distinguish machines, environments and launches.
Facts machine_facts(const ResultHeader& header);
Facts environment_facts(const ResultHeader& header);
Facts launch_facts(const ResultHeader& header);
/// Facts of the run alone.
Facts run_facts(const ResultHeader& header);

/// The measured commit, with "-dirty" for local changes; empty if unknown.
std::string measured_commit(const Environment& environment);

}  // namespace dlscale::regression::history
