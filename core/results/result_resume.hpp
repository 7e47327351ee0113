#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"

namespace dlscale {

class LockedResults;

/// Where a result file that was not finished, or not begun, can be gone on with. Nobody else can
/// write the file as long as this, or a ResultWriter made of it, lives.
struct ResumePoint {
  std::vector<Measurement> measurements;  ///< done: those before the first that was interrupted
  std::uintmax_t bytes = 0;               ///< of the header and their lines
  std::string opening;                    ///< the header's line, where the file has none yet
  std::shared_ptr<LockedResults> file;
};

/// Locks the file, which is made if it is not there, and then reads what is there already of the
/// results that `header` opens; of a file that ends within its header nothing. Throws ConfigError
/// if another process writes the file, if it is damaged or no result file, and, naming the first
/// difference, if it answers other options or comes from another build or machine: its times would
/// not belong beside new ones.
ResumePoint find_resume_point(const std::filesystem::path& path, const ResultHeader& header);

}  // namespace dlscale
