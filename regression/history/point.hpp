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
  /// Number of commits in the history of this one, itself among them; 0: unknown. It is larger than
  /// that of each ancestor, so it orders commits of the same second.
  std::uint64_t ancestors = 0;
  /// Half the unit of the last digit that the text had, in the unit of the series; 0: all digits.
  double rounding = 0;
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
  std::int64_t time = 0;        ///< s since 1970: the earliest of its runs
  std::vector<double> runs;     ///< medians, in the order they were added
  double value = 0;             ///< their median
  std::string run;              ///< its earliest run (Point::run)
  std::uint64_t ancestors = 0;  ///< as in Point
  double rounding = 0;          ///< the largest of its runs, as in Point
};

/// The first key in the order of commits; ties go to the other one, then to the name.
enum class CommitOrder { ancestry, time };
/// Ancestry if it is known of all commits, else time.
CommitOrder order_of(std::span<const CommitPoint> commits);
/// Whether `a` comes after `b`.
bool is_later(const CommitPoint& a, const CommitPoint& b, CommitOrder order);

/// The commits of a series in their order, whatever the order of adding.
std::vector<CommitPoint> by_commit(std::vector<Point> points);

}  // namespace dlscale::regression::history
