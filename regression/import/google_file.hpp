#pragma once
#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "regression/history/series_key.hpp"

namespace dlscale::report::history {

/// A metric that files of Google Benchmark define, and in what it counts.
struct GoogleMetric {
  const char* field;
  const char* unit;
  Direction direction;
};
/// Counters of the user's own declare no direction and are none of these.
inline constexpr std::array google_metrics{
    GoogleMetric{"real_time", "s", Direction::smaller_is_better},
    GoogleMetric{"cpu_time", "s", Direction::smaller_is_better},
    GoogleMetric{"bytes_per_second", "B/s", Direction::larger_is_better},
    GoogleMetric{"items_per_second", "1/s", Direction::larger_is_better}};

/// One element of "benchmarks".
struct GoogleRow {
  enum class Outcome { measured, failed, skipped };
  std::string name;       ///< of the benchmark, without the aggregate
  std::string aggregate;  ///< "median", "cv", …; empty: a repetition
  Outcome outcome = Outcome::measured;
  std::string message;  ///< of one that failed
  /// Of what was measured, by the field of its metric, in its unit. What the file says is infinite
  /// or no number is NaN here.
  std::map<std::string, double, std::less<>> values;
};

/// A file of Google Benchmark (--benchmark_format=json, version 1.5 or later).
struct GoogleFile {
  Facts context;                ///< as text; of "caches" levels and sizes
  std::vector<GoogleRow> rows;  ///< in the order of the file
};

/// Throws ConfigError without the name of the file: no JSON, with the line; a key is missing or its
/// value of another type; an unknown time unit or type of row.
GoogleFile read_google_file(std::string_view text);

/// Why such a value of a metric cannot have been measured, or is none to compare: "is -5, which
/// nothing measured can be". Empty if it can.
std::string impossible(const GoogleMetric& metric, double value);

}  // namespace dlscale::report::history
