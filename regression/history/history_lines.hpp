#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "regression/history/point.hpp"
#include "regression/history/series_key.hpp"
#include "regression/history/store.hpp"

namespace dlscale::regression::history {

// Files of a history and their lines.

inline constexpr const char* format_file = "format.json";
inline constexpr const char* runs_file = "runs.jsonl";
inline constexpr const char* annotations_file = "annotations.jsonl";
inline constexpr std::string_view history_schema = "dlscale.history";
inline constexpr int history_version = 1;

/// Content of the file that says what the folder is.
std::string format_text();
/// Whether it is of a history that this program reads.
bool is_known_format(std::string_view text);

std::string series_file(const SeriesKey& key);
/// Place of a file that was added, by its hash.
std::string kept_file(const std::string& hash);

/// First line of the file of a series.
std::string series_head(const SeriesKey& key);
/// Whether a line is the first one of a series, which merged branches may repeat.
bool is_head(std::size_t number, std::string_view line);
/// The key in such a line. Throws ConfigError without the place.
SeriesKey parse_head(std::string_view line);
/// Throws ConfigError unless the line begins the series of this key.
void expect_key(std::string_view line, const SeriesKey& key);
/// Parses a point of a series. Rejects a median that no import produces: it has no ratio to the
/// others, so the series would be excluded from judgement.
Point parse_point_of(Values values, std::string_view line);

std::string record_line(const RunRecord& record);
RunRecord parse_record(std::string_view line);  ///< throws ConfigError without the place

/// Calls `read` with the number and text of each line, and adds the place to its errors.
template <class Read>
void each_line(const std::string& file, std::string_view content, const std::string& store,
               Read read) {
  std::size_t number = 0;
  while (!content.empty()) {
    const std::size_t end = content.find('\n');
    const std::string_view line = content.substr(0, end);
    ++number;
    try {
      read(number, line);
    } catch (const ConfigError& error) {
      std::string_view problem = error.what();
      if (problem.ends_with('.')) problem.remove_suffix(1);
      throw ConfigError(
          fmt::format("{}:{} of {}: {}. Take the line out, or restore the file: "
                      "lines of a history are never changed.",
                      file, number, store, problem));
    }
    if (end == std::string_view::npos) break;
    content.remove_prefix(end + 1);
  }
}

}  // namespace dlscale::regression::history
