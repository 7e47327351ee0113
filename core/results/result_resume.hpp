#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"

namespace dlscale {

class LockedResults;

/// Point from which an unfinished or new result file can be continued. Nobody else can write the
/// file while this object, or a ResultWriter made from it, lives.
struct ResumePoint {
  /// Finished measurements: those before the first interrupted one.
  std::vector<Measurement> measurements;
  std::uintmax_t bytes = 0;  ///< size of the header and their lines
  std::string opening;       ///< the header line, if the file has none yet
  std::shared_ptr<LockedResults> file;
};

/// Locks the file, which is created if missing, and then reads the existing results for `header`; a
/// file that ends within its header has none. Throws ConfigError if another process writes the
/// file, or if it is damaged or not a result file. Also throws, naming the first difference, if its
/// options, build or machine differ: its times must not be mixed with new ones.
ResumePoint find_resume_point(const std::filesystem::path& path, const ResultHeader& header);

}  // namespace dlscale
