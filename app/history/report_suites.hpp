#pragma once
#include <string>
#include <vector>

#include "report/results/suite_record.hpp"

namespace dlscale::app {

/// What suites of cells left in these folders and below them: the plan, a row for each cell that
/// was carried out, and the canary of each call. Throws ConfigError for damage, naming the file.
std::vector<report::SuiteRecord> read_suites(const std::vector<std::string>& paths);

/// Studies of noise among these files, and noise.json in these folders. Throws ConfigError.
std::vector<report::NoiseFinding> read_noise(const std::vector<std::string>& paths);

/// Whether it is the JSON of a study of noise.
bool is_noise_file(const std::string& path);

}  // namespace dlscale::app
