#pragma once
#include <string>
#include <vector>

#include "report/comparison/side_by_side.hpp"
#include "report/sections/report.hpp"

namespace dlscale::app {

/// Whether a file is the result of a gate ("dlscale.gate").
bool is_gate_file(const std::string& path);

/// The paths of measurements: all except files of predictions ("dlscale.prediction").
std::vector<std::string> measured_paths(const std::vector<std::string>& paths);

/// A source for each path, named by the part of the path that distinguishes it. Throws ConfigError
/// as the readers of results and predictions do.
std::vector<report::ResultSource> read_sources(const std::vector<std::string>& paths);

/// Adds a table of medians side by side if several folders or predictions have the same cells.
void add_side_by_side(report::ReportInput& input, const std::vector<std::string>& paths);

}  // namespace dlscale::app
