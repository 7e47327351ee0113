#pragma once
#include <cstdint>
#include <filesystem>

#include "core/system/output_file.hpp"

namespace dlscale {

/// A result file that only this process writes during the object's lifetime; others are refused.
class LockedResults {
 public:
  /// Creates missing folders and a missing file; existing content stays. "-" is standard output; a
  /// device is not locked. Throws ConfigError if another dlscale process writes the file, if it
  /// holds something other than results, or if it cannot be written.
  explicit LockedResults(const std::filesystem::path& path);

  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  /// Flushes the file: 0 or errno.
  [[nodiscard]] int sync() const { return descriptor_.sync(); }
  [[nodiscard]] bool is_regular() const { return is_regular_; }
  /// Truncates the file to `bytes`; the next write continues there. Throws ConfigError.
  void keep(std::uintmax_t bytes);

 private:
  void lock() const;
  std::filesystem::path path_;
  Descriptor descriptor_;
  bool is_regular_ = false;
};

}  // namespace dlscale
