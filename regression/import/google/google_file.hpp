#pragma once
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "regression/history/series_key.hpp"
#include "regression/import/printed_json.hpp"

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

/// Whether the metric is one of the two times, which every row has.
bool is_time(const GoogleMetric& metric);

/// One element of "benchmarks".
struct GoogleRow {
  /// `ambiguous`: the row is left out, as `message` says.
  enum class Outcome { measured, failed, skipped, ambiguous };
  std::string name;       ///< name of the benchmark, without the aggregate
  std::string aggregate;  ///< "median", "cv", …; empty: a repetition
  Outcome outcome = Outcome::measured;
  std::string message;       ///< why it failed, was skipped (may be empty) or is left out
  bool states_type = false;  ///< as since version 1.5; else names tell aggregates
  std::optional<double> iterations;
  std::optional<int> repetition;  ///< index from 0, as since version 1.5
  double time_unit = 1e-9;        ///< s
  /// Measured values by the field of their metric, in its unit. Values that the file gives as
  /// infinite or not a number are NaN.
  std::map<std::string, double, std::less<>> values;
};

/// A file of Google Benchmark (--benchmark_format=json).
struct GoogleFile {
  Facts context;                   ///< as text; for "caches" the levels and sizes
  std::vector<GoogleRow> rows;     ///< in the order of the file
  std::vector<std::string> notes;  ///< on the text around the JSON, and its letters
  /// The digits of values, by the field of their metric. Versions before 1.4 print whole numbers.
  std::map<std::string, PrintedDigits, std::less<>> digits;

  /// Half a unit of the last digit of a value of the row, in the unit of the metric; 0: all digits.
  [[nodiscard]] double rounding(const GoogleRow& row, const GoogleMetric& metric) const;
};

/// The program that wrote a file, without its folder, whose place does not matter; empty if the
/// context does not say.
std::string google_program(const Facts& context);

/// Throws ConfigError without the name of the file for invalid JSON (with the line), and if it
/// lacks a list of rows or no row has a name. One bad row is ambiguous: the others count.
GoogleFile read_google_file(std::string_view text);

/// Recognises aggregates of versions before 1.5 by their names and iterations: histories, gates and
/// comparisons all take this decision. Drops fits of complexity, which have no times, and makes one
/// ambiguous row of benchmarks that share a name, so that nothing is merged.
void settle_names(std::vector<GoogleRow>& rows);

/// " (no AVX)" of a message; empty if it is.
std::string in_brackets(const std::string& message);

/// Why a metric cannot have this value, or why the value cannot be compared: "is -5, which nothing
/// measured can be". Empty if it is valid.
std::string impossible(const GoogleMetric& metric, double value);

}  // namespace dlscale::regression::history
