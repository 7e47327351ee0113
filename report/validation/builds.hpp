#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"

namespace dlscale::report {

/// Whether a file has trainings.
bool has_runs(const ResultFile& file);

/// Throws ConfigError for trainings on several processors: one error cannot describe them.
void refuse_several_processors(std::span<const ResultFile> results);

/// The builds that trainings are of: commit, compiler, its flags and libraries.
struct Builds {
  /// "build 2", one for each result file; empty where all trainings are of one build.
  std::vector<std::string> of_files;
  /// "build 2: commit abc, compiler flags -O2 (later.jsonl and 2 further files)": all that
  /// differs, and where.
  std::vector<std::string> notes;
};

/// Numbers builds in the order of the files.
Builds builds_of(std::span<const ResultFile> results);

}  // namespace dlscale::report
