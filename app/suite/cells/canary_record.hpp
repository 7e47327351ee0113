#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "app/suite/cells/canary.hpp"

namespace dlscale::app {

/// The A/A control of one call on this machine, at its start and at its end. The record is
/// <out>/canary/<time>-<process>.json.
class CanaryRecord {
 public:
  /// Times the pairs at the start, and reports an alarm on standard error.
  CanaryRecord(std::filesystem::path out, bool quiet);
  /// Times the pairs at the end, writes the record, and reports a machine that differed during the
  /// call. Throws ConfigError if the record cannot be written.
  void finish() const;

 private:
  std::filesystem::path out_;
  bool quiet_;
  std::string started_;
  std::vector<CanaryPair> before_;
};

/// The records of all calls in a folder, one line each, in their order.
std::string canary_lines(const std::filesystem::path& out);

}  // namespace dlscale::app
