#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/statistics.hpp"

namespace dlscale::regression::history {

/// One series as measured by one run (one launch).
struct Point {
  std::int64_t time = 0;  ///< s since 1970, UTC; places the commit in the history
  std::string commit;     ///< measured commit; builds with local changes end in "-dirty"
  std::string run;        ///< first 16 digits of the SHA-256 of its file
  int part = 0;           ///< distinguishes points of one run and series
  Summary summary;        ///< in the unit of the series; `median` is judged
  /// JSON object of conditions observed during the run ("host", "processor_clock",
  /// "throttle_reasons"), per rank where ranks differ; may be empty.
  std::string extras;
};

/// One line of a series' file, with its line break. Requires finite numbers.
std::string point_line(const Point& point);

/// Parses a line (without its break). Lines as point_line() writes them are read without a JSON
/// parser, which makes a million of them fast. Other JSON objects with these fields are parsed as
/// JSON. Throws ConfigError without the place, also if the numbers do not form a summary of
/// samples.
Point parse_point(std::string_view line);

/// Measurements of one commit in one series: one place of the history, however often and however
/// late the commit was measured again.
struct CommitPoint {
  std::string commit;
  std::int64_t time = 0;     ///< s since 1970: the earliest of its runs
  std::vector<double> runs;  ///< medians, in the order they were added
  double value = 0;          ///< their median
  std::string run;           ///< its first run (Point::run)
};

/// The commits of a series in the order of time; commits of equal time stay in the order added.
std::vector<CommitPoint> by_commit(std::span<const Point> points);

}  // namespace dlscale::regression::history
