#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace dlscale::bench {

/// The checked flags of Google Benchmark that apply to dlscale. Google Benchmark's own parser exits
/// the process at a wrong value, and has flags that dlscale's measuring loop ignores.
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

/// Throws ConfigError for an unknown flag, a flag without effect here (with a replacement) and a
/// wrong value.
RunnerFlags parse_runner_flags(const std::vector<std::string>& flags);

/// The command-line spelling of a flag: filter is --benchmark_filter.
std::string google_flag(std::string_view name);

/// The command line that sets Google Benchmark's global flags to exactly `flags`, regardless of
/// earlier runs in this process.
std::vector<std::string> command_line(const RunnerFlags& flags);

}  // namespace dlscale::bench
