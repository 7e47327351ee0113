#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/statistics.hpp"

namespace dlscale::report::history {

/// What one run (one launch) found of one series.
struct Point {
  std::int64_t time = 0;  ///< s since 1970, UTC: where the commit stands in the history
  std::string commit;     ///< as measured; what was built with local changes ends in "-dirty"
  std::string run;        ///< first 16 digits of the SHA-256 of the file it comes from
  int part = 0;           ///< tells points of one run and series apart
  Summary summary;        ///< in the unit of the series; `median` is what is judged
  /// JSON object of what was seen beside it, on each rank where ranks differ ("host",
  /// "processor_clock", "throttle_reasons"); may be empty.
  std::string extras;
};

/// One line of a series' file, with its line break. Requires finite numbers.
std::string point_line(const Point& point);

/// What a line (without its break) holds. Lines as point_line() writes them are read without a JSON
/// parser, which is what makes a million of them quick; any other JSON object with these fields is
/// read with one. Throws ConfigError without the place, for numbers that are no summary of samples,
/// too.
Point parse_point(std::string_view line);

}  // namespace dlscale::report::history
