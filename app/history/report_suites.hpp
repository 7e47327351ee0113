#pragma once
#include <string>
#include <vector>

#include "report/results/suite_record.hpp"

namespace dlscale::app {

/// The records of suites of cells in and below these folders: the plan, a row for each completed
/// cell, and the canary of each call. Throws ConfigError naming the file if it is damaged.
std::vector<report::SuiteRecord> read_suites(const std::vector<std::string>& paths);

/// Noise studies among these files, and noise.json in these folders. Throws ConfigError.
std::vector<report::NoiseFinding> read_noise(const std::vector<std::string>& paths);

/// Whether a file is the JSON of a noise study.
bool is_noise_file(const std::string& path);

}  // namespace dlscale::app
