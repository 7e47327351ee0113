#pragma once
#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "regression/history/series_key.hpp"

namespace dlscale::regression::history {

/// A metric that Google Benchmark defines, and its unit.
struct GoogleMetric {
  const char* field;
  const char* unit;
  Direction direction;
};
/// User counters declare no direction, so they are not listed.
inline constexpr std::array google_metrics{
    GoogleMetric{"real_time", "s", Direction::smaller_is_better},
    GoogleMetric{"cpu_time", "s", Direction::smaller_is_better},
    GoogleMetric{"bytes_per_second", "B/s", Direction::larger_is_better},
    GoogleMetric{"items_per_second", "1/s", Direction::larger_is_better}};

/// One element of "benchmarks".
struct GoogleRow {
  enum class Outcome { measured, failed, skipped };
  std::string name;       ///< name of the benchmark, without the aggregate
  std::string aggregate;  ///< "median", "cv", …; empty: a repetition
  Outcome outcome = Outcome::measured;
  std::string message;  ///< error message of a failed benchmark
  /// Measured values by the field of their metric, in its unit. Values that the file gives as
  /// infinite or not a number are NaN.
  std::map<std::string, double, std::less<>> values;
};

/// A file of Google Benchmark (--benchmark_format=json, version 1.5 or later).
struct GoogleFile {
  Facts context;                ///< as text; for "caches" the levels and sizes
  std::vector<GoogleRow> rows;  ///< in the order of the file
};

/// Throws ConfigError without the name of the file for invalid JSON (with the line) and a missing
/// or mistyped key. Likewise for an unknown time unit or type of row.
GoogleFile read_google_file(std::string_view text);

/// Why a metric cannot have this value, or why the value cannot be compared: "is -5, which nothing
/// measured can be". Empty if it is valid.
std::string impossible(const GoogleMetric& metric, double value);

}  // namespace dlscale::regression::history
