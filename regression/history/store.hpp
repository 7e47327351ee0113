#pragma once
#include <cstddef>
#include <filesystem>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "regression/history/alert_state.hpp"
#include "regression/history/history_folder.hpp"
#include "regression/history/point.hpp"
#include "regression/history/run.hpp"
#include "regression/history/series_key.hpp"

namespace dlscale::report::history {

/// A line of runs.jsonl: this run was added, whole.
struct RunRecord {
  std::string sha256;  ///< of the file, which stands below files/ as it was
  std::string commit;
  std::int64_t time = 0;
  std::string format;
  std::string file;  ///< as it was named
  std::size_t points = 0;
  Facts facts;
  [[nodiscard]] std::string id() const { return sha256.substr(0, 16); }
};

/// All points under one key, in the order of the file.
struct Series {
  SeriesKey key;
  std::vector<Point> points;
  std::size_t incomplete = 0;  ///< points of runs that were not added whole, which are left out
};

/// What there is to say where that is all that was found: their runs are not among those that were
/// added (runs.jsonl).
Error none_whole(const std::string& store, std::size_t incomplete);

/// What Store::each_series() found.
struct Reading {
  std::size_t series = 0;  ///< that there are, wanted or not
  /// Points of runs that were added whole and that no series holds any more: of a file that was
  /// damaged or taken away. 0 where not all series were wanted, which does not tell.
  std::size_t lost = 0;
};

/// What became of the files given to Store::add().
struct AddReport {
  std::size_t runs = 0;            ///< added
  std::size_t points = 0;          ///< added
  std::size_t restored = 0;        ///< points of runs that were there, but not these
  std::size_t restored_files = 0;  ///< of runs that were there, and not as they were added
  std::size_t new_series = 0;
  std::vector<std::string> there_already;  ///< files whose content is in the history
};

/// A history of measurements:
///
///   format.json            {"schema": "dlscale.history", "version": 1}
///   series/STEM-ID.jsonl   the key, then a line a point
///   runs.jsonl             a line a run, after its points: a run that is not there does not count
///   annotations.jsonl      a line for each change of an alert's state
///   files/AB/SHA256        what was added, as it was
///
/// Lines are only ever added. A run's name is the hash of its file, so that adding it twice is the
/// same as adding it once, whoever does it. There is no index that could be wrong: what series hold
/// is read from them.
class Store {
 public:
  /// The folder need not exist yet. Throws ConfigError if it is something else than a folder.
  explicit Store(std::filesystem::path folder);

  /// All of them or, where one cannot be, none. Of a run that is there what was lost of it is put
  /// back. Throws ConfigError: as HistoryFolder::update(), or for
  /// a file that was added as another commit, or a folder that holds something else.
  AddReport add(std::span<const ImportedRun> runs);

  /// Throws ConfigError, naming file and line, for damage; and where there is no history.
  [[nodiscard]] std::vector<RunRecord> runs();
  [[nodiscard]] std::vector<Annotation> annotations();  ///< the latest last
  /// One series after the other, of those that are `wanted`, so that memory holds one at a time.
  /// Sorted by file.
  Reading each_series(const std::function<bool(const SeriesKey&)>& wanted,
                      const std::function<void(Series&&)>& visit);
  /// The file that was added. Throws ConfigError if it is not there, or is not what it was.
  [[nodiscard]] std::string content(const RunRecord& run);
  void annotate(const Annotation& annotation);

  [[nodiscard]] std::string name() const { return folder_.name(); }

 private:
  void expect_history();
  [[nodiscard]] bool is_there();

  HistoryFolder folder_;
};

}  // namespace dlscale::report::history
