#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/measurement.hpp"

namespace dlscale {

/// Where a result file that was not finished can be gone on with.
struct ResumePoint {
  std::vector<Measurement> measurements;  ///< done: those before the first that was interrupted
  std::uintmax_t bytes = 0;               ///< of the header and their lines
};

/// What is there already of the results that `header` opens; nothing without such a file, or with
/// an empty one. Throws ConfigError if the file is damaged or no result file, and, naming the first
/// difference, if it answers other options or comes from another build or machine: its times
/// would not belong beside new ones.
std::optional<ResumePoint> find_resume_point(const std::filesystem::path& path,
                                             const ResultHeader& header);

}  // namespace dlscale
