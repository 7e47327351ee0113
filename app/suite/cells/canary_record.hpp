#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "app/suite/cells/canary.hpp"

namespace dlscale::app {

/// The canary of one call: taken when it begins and when it ends, on the machine of this process.
/// Its record is <out>/canary/<time>-<process>.json.
class CanaryRecord {
 public:
  /// Takes the pairs of the beginning, and says on standard error if they alarm.
  CanaryRecord(std::filesystem::path out, bool quiet);
  /// Takes those of the end, writes the record and says if the machine was not the same throughout.
  /// Throws ConfigError if it cannot be written.
  void finish() const;

 private:
  std::filesystem::path out_;
  bool quiet_;
  std::string started_;
  std::vector<CanaryPair> before_;
};

/// The records of all calls in a folder, a line each, in their order.
std::string canary_lines(const std::filesystem::path& out);

}  // namespace dlscale::app
