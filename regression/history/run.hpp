#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "regression/history/point.hpp"
#include "regression/history/series_key.hpp"

namespace dlscale::regression::history {

/// A point and the series it belongs to. The store fills in `point.run`.
struct KeyedPoint {
  SeriesKey key;
  Point point;
};

/// A file of results that was read and can be added to a history.
struct ImportedRun {
  std::string file;     ///< name as given
  std::string content;  ///< unmodified
  /// Whether the content has the time of the measurement, so that another one cannot be equal.
  bool is_dated = false;
  std::string format;  ///< "dlscale.result", "Google Benchmark", …
  std::string commit;
  std::int64_t time = 0;
  Facts facts;  ///< facts of this run alone: host, kernel, load, command
  std::vector<KeyedPoint> points;
  std::vector<std::string> notes;  ///< omissions and their reasons
};

/// Properties of a run that its importer states, where the file lacks them or to correct it.
struct RunOptions {
  std::string commit;                ///< empty: as the file says
  std::optional<std::int64_t> time;  ///< s since 1970
  std::uint64_t ancestors = 0;       ///< as in Point
  std::string run;                   ///< readable name, for example "nightly 1234"
  Facts axes;                        ///< added to the case
  Facts machine;                     ///< added to the class of the machine
  Facts environment;
  Facts launch;
};

/// Sets commit and time: those of the options, else those of the file (`""` and nullopt if it has
/// none). Throws ConfigError if neither has them.
void set_origin(ImportedRun& run, const RunOptions& options, const std::string& commit,
                std::optional<std::int64_t> time);
/// Throws ConfigError that begins with `what` for a time more than an hour after the present: such
/// a commit would stay the newest. `advice` says what to do.
void expect_past(std::int64_t time, const std::string& what, const std::string& advice);
/// Adds the facts of the options to each key; they override those of the file.
void add_facts(ImportedRun& run, const RunOptions& options);
/// Numbers the points of each series, which tells them apart.
void number_parts(ImportedRun& run);

/// Reads a file of any known format (regression/import/content_kind.hpp). Throws ConfigError that
/// names file and line for an unknown format, damage, or a missing commit or time.
ImportedRun read_run(const std::string& path, const RunOptions& options);

}  // namespace dlscale::regression::history
