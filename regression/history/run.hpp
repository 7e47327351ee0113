#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "regression/history/point.hpp"
#include "regression/history/series_key.hpp"

namespace dlscale::report::history {

/// A point and where it belongs. `point.run` is filled in by the store.
struct KeyedPoint {
  SeriesKey key;
  Point point;
};

/// A file of results, read and ready to be added to a history.
struct ImportedRun {
  std::string file;     ///< as it was named
  std::string content;  ///< byte by byte; its SHA-256 is the run's name
  std::string format;   ///< "dlscale.result", "Google Benchmark", …
  std::string commit;
  std::int64_t time = 0;
  Facts facts;  ///< of this run alone: host, kernel, load, command
  std::vector<KeyedPoint> points;
  std::vector<std::string> notes;  ///< what was left out, and why
};

/// What the person who adds a run says of it, where the file does not, or to correct it.
struct RunOptions {
  std::string commit;                ///< empty: as the file says
  std::optional<std::int64_t> time;  ///< s since 1970
  std::string run;                   ///< a name for people, such as "nightly 1234"
  Facts axes;                        ///< added to the case
  Facts machine;                     ///< added to the class of the machine
  Facts environment;
  Facts launch;
};

/// The commit and the time that count: those of the options, else those of the file (`""` and
/// nothing: it says none). Throws ConfigError where neither says.
void set_origin(ImportedRun& run, const RunOptions& options, const std::string& commit,
                std::optional<std::int64_t> time);
/// Adds the facts of the options to each key; they win over those of the file.
void add_facts(ImportedRun& run, const RunOptions& options);
/// Numbers the points of each series, which tells them apart.
void number_parts(ImportedRun& run);

/// Reads a file of any format that is known (regression/import/content_kind.hpp). Throws ConfigError
/// that names file and line: no known format, damage, no commit or time.
ImportedRun read_run(const std::string& path, const RunOptions& options);

}  // namespace dlscale::report::history
