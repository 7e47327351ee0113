#pragma once
#include <string>
#include <vector>

namespace dlscale::bench {

/// The flags of Google Benchmark that mean something when dlscale measures, checked. Its own parser
/// exits the process at a wrong value, and has flags that a measuring loop of ours ignores.
struct RunnerFlags {
  std::string filter;  ///< regular expression; empty: all
  std::string format = "console";
  std::string out;  ///< file, or empty
  std::string out_format = "json";
  std::string time_unit = "us";
  int repetitions = 1;
  std::string list_tests = "false";
  std::string report_aggregates_only = "false";
  std::string display_aggregates_only = "false";
  [[nodiscard]] bool listing() const { return list_tests == "true"; }
};

/// Throws ConfigError for an unknown flag, one that has no effect here (with what to use instead)
/// and a wrong value.
RunnerFlags parse_runner_flags(const std::vector<std::string>& flags);

/// The command line that sets Google Benchmark's global flags to exactly `flags`, whatever an
/// earlier run in this process set.
std::vector<std::string> command_line(const RunnerFlags& flags);

}  // namespace dlscale::bench
