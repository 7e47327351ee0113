#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "regression/history/alert_state.hpp"
#include "regression/history/commit_name.hpp"
#include "regression/history/history_folder.hpp"
#include "regression/history/point.hpp"
#include "regression/history/run.hpp"
#include "regression/history/series_key.hpp"

namespace dlscale::regression::history {

/// A line of runs.jsonl: a run that was added completely.
struct RunRecord {
  /// Name of the run: the hash of its file if that is dated or the name is older, else a hash of
  /// file and commit; a hash of that where a killed writer left other points of the name.
  std::string run;
  std::string sha256;  ///< hash of the file, which is kept unmodified below files/
  std::string commit;
  std::int64_t time = 0;
  std::string format;
  std::string file;  ///< name as given
  std::size_t points = 0;
  Facts facts;
  std::uint64_t ancestors = 0;  ///< as in Point
  [[nodiscard]] std::string id() const { return run.substr(0, 16); }
};

/// All points under one key, in the order of the file.
struct Series {
  SeriesKey key;
  std::vector<Point> points;
  std::size_t incomplete = 0;  ///< points left out, since their runs were not added completely
};

/// The error for a selection with such points only, whose runs are not recorded in runs.jsonl.
Error none_whole(const std::string& store, std::size_t incomplete);

/// Result of Store::each_series().
struct Reading {
  std::size_t series = 0;  ///< all series of the history, wanted or not
  /// Points of completely added runs that no series holds any more, since a file was damaged or
  /// removed. 0 if not all series were wanted, where it is unknown.
  std::size_t lost = 0;
  /// Short names of commits that several names begin with.
  std::vector<std::string> ambiguous;
};

/// The names of the commits of these runs.
CommitNames commit_names(std::span<const RunRecord> runs);

/// Notes on the files to be added that equal a file of another commit.
std::vector<std::string> notes_on_equal_files(std::span<const RunRecord> there,
                                              std::span<const ImportedRun> runs);

/// Result of Store::add().
struct AddReport {
  std::size_t runs = 0;            ///< runs added
  std::size_t points = 0;          ///< points added
  std::size_t restored = 0;        ///< points added again for known runs that had lost them
  std::size_t restored_files = 0;  ///< missing or damaged files of known runs, written again
  std::size_t new_series = 0;
  std::vector<std::string> there_already;  ///< files whose content is already in the history
};

/// A history of measurements:
///
///   format.json            {"schema": "dlscale.history", "version": 1}
///   series/STEM-ID.jsonl   the key, then a line a point
///   runs.jsonl             a line a run, after its points: a run that is not there does not count
///   annotations.jsonl      a line for each change of an alert's state
///   files/AB/SHA256        what was added, as it was
///
/// Lines are only ever appended. A file is added once for a commit: again it has no effect, by any
/// writer. A file that says when it was measured is of one commit. The same text without a time can
/// be a measurement of another commit, too: a deterministic benchmark prints it again. The store
/// keeps no index that could be wrong; it reads the series directly. Points and annotations come
/// with the whole names of their commits (CommitNames), runs with the name as it was given.
class Store {
 public:
  /// The folder need not exist yet. Throws ConfigError if the path is not a folder.
  explicit Store(std::filesystem::path folder);

  /// Adds all runs or, if one cannot be added, none. Restores what a known run has lost. Throws
  /// ConfigError as HistoryFolder::update() does, for a dated file that was added as another
  /// commit, for a known file under other keys, and for a folder with other content.
  AddReport add(std::span<const ImportedRun> runs);

  /// Whether nothing was added yet. Throws ConfigError for a folder with other content.
  [[nodiscard]] bool is_empty() { return !is_there(); }
  /// Throws ConfigError for damage, naming file and line, and for a missing history.
  [[nodiscard]] std::vector<RunRecord> runs();
  [[nodiscard]] std::vector<Annotation> annotations();  ///< latest last
  /// Visits the `wanted` series one after the other, so that memory holds one at a time. Sorted by
  /// file.
  Reading each_series(const std::function<bool(const SeriesKey&)>& wanted,
                      const std::function<void(Series&&)>& visit);
  /// Place of the file that was added. Throws ConfigError if it is missing or damaged.
  [[nodiscard]] std::filesystem::path file_of(const RunRecord& run);
  /// Writes what `decide` makes of the history as it stands, while no other writer changes it.
  void annotate(const std::function<Annotation()>& decide);

  [[nodiscard]] std::string name() const { return folder_.name(); }

 private:
  void expect_history();
  [[nodiscard]] bool is_there();

  HistoryFolder folder_;
};

}  // namespace dlscale::regression::history
