#pragma once
#include <filesystem>

#include "core/results/measurement.hpp"

namespace dlscale::report {

/// Whether a file begins as JSON of Google Benchmark (--benchmark_format=json). False where it
/// cannot be read.
bool is_google_benchmark(const std::filesystem::path& path);

/// Such a file as results to compare: a measurement for each benchmark, by its name, whose
/// repetitions are the samples of "real_time" in seconds; of a file of aggregates alone the median
/// is the only one. One that failed is wrong, one that was skipped unsupported, and one whose time
/// is no number has no samples. Throws ConfigError, naming the file, for damage and for times that
/// nothing takes.
ResultFile google_results(const std::filesystem::path& path);

}  // namespace dlscale::report
