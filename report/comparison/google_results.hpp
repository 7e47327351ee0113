#pragma once
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"
#include "report/comparison/compare.hpp"

namespace dlscale::report {

/// Results of a program that prints its times, and half a unit of the last digit of each, in s, by
/// the key of its measurement (regression/statistics/log_rounding.hpp).
struct PrintedResults {
  ResultFile results;
  Roundings roundings;
  std::string program;  ///< that wrote the file, without its folder; empty: not stated
  std::vector<std::string> notes = {};  ///< rows that do not count, where others of a benchmark do
};

/// Adds the axis `program` to all measurements if A or B has files of several programs, whose
/// benchmarks may have the same names. Two versions of one program may have different names.
void keep_programs_apart(std::span<PrintedResults> a, std::span<PrintedResults> b);

/// Reads such a file as results to compare: one measurement for each benchmark, by name. The
/// repetitions of "real_time", in seconds, are its samples; a file of aggregates alone has only the
/// median (google_samples.hpp). A failed benchmark is wrong. One that was skipped is unsupported,
/// and one whose times are not numbers has no samples. Nothing for a file of another kind. Throws
/// ConfigError that names the file for damage.
std::optional<PrintedResults> google_results(const std::filesystem::path& path);

/// The same, or a result file of dlscale. Throws ConfigError that names the program if another one
/// wrote the file.
PrintedResults compared_results(const std::filesystem::path& path);

}  // namespace dlscale::report
