#pragma once
#include <filesystem>
#include <optional>

#include "core/results/measurement.hpp"
#include "report/comparison/compare.hpp"

namespace dlscale::report {

/// Results of a program that prints its times, and half a unit of the last digit of each, in s, by
/// the key of its measurement (regression/statistics/log_rounding.hpp).
struct PrintedResults {
  ResultFile results;
  Roundings roundings;
};

/// Reads such a file as results to compare: one measurement for each benchmark, by name. The
/// repetitions of "real_time", in seconds, are its samples; a file of aggregates alone has only the
/// median. A failed benchmark is wrong and a skipped one unsupported; one whose time is not a
/// number has no samples. Nothing for a file of another kind. Throws ConfigError that names the
/// file for damage.
std::optional<PrintedResults> google_results(const std::filesystem::path& path);

/// The same, or a result file of dlscale. Throws ConfigError that names the program if another one
/// wrote the file.
PrintedResults compared_results(const std::filesystem::path& path);

}  // namespace dlscale::report
