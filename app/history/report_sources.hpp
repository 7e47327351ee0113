#pragma once
#include <string>
#include <vector>

#include "report/comparison/side_by_side.hpp"
#include "report/results/result_table.hpp"
#include "report/sections/report.hpp"

namespace dlscale::app {

/// The records of suites of cells in and below these folders: the plan, a row for each completed
/// cell, and the canary of each call. Throws ConfigError naming the file if it is damaged.
std::vector<report::SuiteRecord> read_suites(const std::vector<std::string>& paths);

/// Noise studies among these files, and noise.json in these folders. Throws ConfigError.
std::vector<report::NoiseFinding> read_noise(const std::vector<std::string>& paths);

/// Whether a file is the JSON of a noise study.
bool is_noise_file(const std::string& path);

/// The result of a gate ("dlscale.gate") that a path is, or has as gate.json; empty if none.
std::string gate_file(const std::string& path);

/// The paths of measurements: all except files of predictions ("dlscale.prediction",
/// "dlscale.sweep").
std::vector<std::string> measured_paths(const std::vector<std::string>& paths);

/// A source for each path, named by the part of the path that distinguishes it. Throws ConfigError
/// as the readers of results and predictions do.
std::vector<report::ResultSource> read_sources(const std::vector<std::string>& paths);

/// Adds a table of medians side by side if several folders or predictions have the same cells.
void add_side_by_side(report::ReportInput& input, const std::vector<std::string>& paths);

}  // namespace dlscale::app
