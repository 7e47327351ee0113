#pragma once
#include <filesystem>

#include "core/results/measurement.hpp"
#include "report/comparison/compare.hpp"

namespace dlscale::report {

/// Whether a file begins as JSON of Google Benchmark (--benchmark_format=json). False if it cannot
/// be read.
bool is_google_benchmark(const std::filesystem::path& path);

/// Throws ConfigError that names the program if one that compare does not read wrote the file.
void refuse_other_programs(const std::filesystem::path& path);

/// Results of a program that prints its times, and half a unit of the last digit of each, in s, by
/// the key of its measurement (regression/statistics/log_rounding.hpp).
struct PrintedResults {
  ResultFile results;
  Roundings roundings;
};

/// Reads such a file as results to compare: one measurement for each benchmark, by name. The
/// repetitions of "real_time", in seconds, are its samples; a file of aggregates alone has only the
/// median. A failed benchmark is wrong and a skipped one unsupported; one whose time is not a
/// number has no samples. Throws ConfigError that names the file for damage and for impossible
/// times.
PrintedResults google_results(const std::filesystem::path& path);

}  // namespace dlscale::report
