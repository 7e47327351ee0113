#include "regression/history/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "regression/history/history_lines.hpp"
#include "regression/history/recorded_points.hpp"
#include "regression/history/series_key.hpp"

namespace dlscale::regression::history {
namespace {

/// Git keeps every file unmodified, byte by byte. Merging two branches keeps the lines of both
/// sides, in any order.
constexpr const char* git_attributes = "* -text\n*.jsonl merge=union\n";
constexpr const char* git_ignores = ".lock\n";

/// Runs and parts that the file of a series already has, whether or not the run is recorded.
using Parts = std::set<std::pair<std::string, int>>;

/// Lines to add to one series, and the points that its file already has.
struct Growing {
  std::string lines;
  Parts there;
  std::map<Parts::key_type, std::string> unrecorded;  ///< lines of runs that were not added whole
  bool is_new = false;
};

Growing look_at(const HistoryFolder& folder, const std::string& file, const SeriesKey& key,
                const std::set<std::string>& recorded) {
  Growing growing;
  const std::string content = folder.read(file).value_or("");
  growing.is_new = content.empty();
  if (growing.is_new) growing.lines = series_head(key);
  const Values values = values_of(key);
  each_line(file, content, folder.name(), [&](std::size_t number, std::string_view line) {
    if (is_head(number, line)) return expect_key(line, key);
    const Point point = parse_point_of(values, line);
    growing.there.emplace(point.run, point.part);
    if (!recorded.contains(point.run)) {
      growing.unrecorded.try_emplace({point.run, point.part}, line);
    }
  });
  return growing;
}

/// Points and series of one run that a history holds.
struct Held {
  std::size_t points = 0;
  std::vector<SeriesKey> keys;
};

Held held_of(const HistoryFolder& folder, const std::string& run) {
  Held held;
  for (const std::string& file : folder.files("series")) {
    const std::string content = folder.read(file).value_or("");
    if (content.find(run) == std::string::npos) continue;
    Parts parts;
    each_line(file, content, folder.name(), [&](std::size_t number, std::string_view line) {
      if (number == 1) held.keys.push_back(parse_head(line));
      if (is_head(number, line) || line.find(run) == std::string_view::npos) return;
      if (const Point point = parse_point(line); point.run == run) {
        parts.emplace(point.run, point.part);
      }
    });
    held.points += parts.size();
    if (parts.empty()) held.keys.pop_back();
  }
  return held;
}

/// The facts in which two keys differ.
std::string key_differences(const SeriesKey& there, const SeriesKey& now) {
  std::string all;
  for (const auto facts :
       {&SeriesKey::axes, &SeriesKey::machine, &SeriesKey::environment, &SeriesKey::launch}) {
    const std::string some = differences(there.*facts, now.*facts);
    if (!some.empty()) all += (all.empty() ? "" : ", ") + some;
  }
  return all;
}

/// How the key differs from that of the same metric, where it differs least.
std::string least_differences(const std::vector<SeriesKey>& there, const SeriesKey& now) {
  std::string least;
  for (const SeriesKey& key : there) {
    const std::string some = key_differences(key, now);
    const bool is_less = least.empty() || some.size() < least.size();
    if (key.metric == now.metric && !some.empty() && is_less) least = some;
  }
  return least.empty() ? now.name() : least;
}

/// The record of a run that is not in the history yet.
RunRecord record_of(const ImportedRun& run) {
  RunRecord record{"",       sha256(run.content), run.commit, run.time, run.format,
                   run.file, run.points.size(),   run.facts};
  record.run = run.is_dated ? record.sha256 : sha256(record.sha256 + " " + run.commit);
  if (!run.points.empty()) record.ancestors = run.points.front().point.ancestors;
  return record;
}

/// Collects the changes of one update.
class Plan {
 public:
  Plan(const HistoryFolder& folder, Changes first, const std::vector<RunRecord>& there,
       CommitNames names)
      : folder_(folder), changes_(std::move(first)), names_(std::move(names)) {
    for (const RunRecord& record : there) {
      runs_.emplace(record.sha256, record);
      recorded_.insert(record.id());
    }
  }

  void add(const ImportedRun& run) {
    RunRecord record = record_of(run);
    const RunRecord* known = known_as(record, run.is_dated);
    const bool fresh = known == nullptr;
    if (fresh) {
      while (are_others_there(run, record.id())) record.run = sha256(record.run);
      runs_.emplace(record.sha256, record);
    } else {
      record.run = known->run;
      report_.there_already.push_back(record.file);
      expect_lost(run, *known);
    }
    keep(record, run.content, fresh);
    std::size_t added = 0;
    for (const KeyedPoint& keyed : run.points) added += add(keyed, record.id()) ? 1 : 0;
    if (!fresh) {
      report_.restored += added;
      return;
    }
    records_ += record_line(record);
    ++report_.runs;
    report_.points += run.points.size();
  }
  /// Appends the records last: a run counts only once it is recorded.
  [[nodiscard]] Changes changes() {
    if (records_.empty() && report_.restored == 0 && report_.restored_files == 0) return {};
    for (auto& [file, growing] : series_) {
      if (growing.is_new) ++report_.new_series;
      if (!growing.lines.empty()) changes_.appended.emplace_back(file, std::move(growing.lines));
    }
    if (!records_.empty()) changes_.last = {runs_file, std::move(records_)};
    return std::move(changes_);
  }
  [[nodiscard]] const AddReport& report() const { return report_; }

 private:
  /// Writes the file of a run unless it is already there. A disk may have lost it, and a killed
  /// writer may have left it.
  void keep(const RunRecord& record, const std::string& content, bool fresh) {
    const std::string file = kept_file(record.sha256);
    if (changes_.whole.contains(file) || folder_.read_all(file) == content) return;
    changes_.whole[file] = content;
    report_.restored_files += fresh ? 0 : 1;
  }
  /// The run that the file is there as, of this commit; nullptr if it is new.
  [[nodiscard]] const RunRecord* known_as(const RunRecord& record, bool is_dated) const {
    const auto [begin, end] = runs_.equal_range(record.sha256);
    for (auto known = begin; known != end; ++known) {
      const RunRecord& there = known->second;
      if (names_.whole(there.commit) == names_.whole(record.commit)) return &there;
      if (is_dated) {
        throw ConfigError(
            fmt::format("{} was added to {} as commit {}, and cannot be of {} as well, since it "
                        "says when it was measured. Measure that commit.",
                        record.file, folder_.name(), there.commit, record.commit));
      }
    }
    return nullptr;
  }
  [[nodiscard]] Growing& series_of(const SeriesKey& key) {
    const std::string file = series_file(key);
    auto found = series_.find(file);
    if (found == series_.end()) {
      found = series_.emplace(file, look_at(folder_, file, key, recorded_)).first;
    }
    return found->second;
  }
  static Point point_of(const KeyedPoint& keyed, const std::string& run) {
    Point point = keyed.point;
    point.run = run;
    return point;
  }
  /// Whether a killed writer left points of this run's name that differ from its own, as of another
  /// commit or time. They must never count.
  [[nodiscard]] bool are_others_there(const ImportedRun& run, const std::string& id) {
    return std::ranges::any_of(run.points, [&](const KeyedPoint& keyed) {
      const Growing& series = series_of(keyed.key);
      const auto left = series.unrecorded.find({id, keyed.point.part});
      return left != series.unrecorded.end() &&
             left->second + "\n" != point_line(point_of(keyed, id));
    });
  }
  /// Throws ConfigError if the file has points under other keys than the known run had: it would
  /// count twice.
  void expect_lost(const ImportedRun& run, const RunRecord& known) {
    std::size_t missing = 0;
    const SeriesKey* first = nullptr;
    for (const KeyedPoint& keyed : run.points) {
      if (series_of(keyed.key).there.contains({known.id(), keyed.point.part})) continue;
      if (missing++ == 0) first = &keyed.key;
    }
    if (missing == 0) return;
    Held held = held_of(folder_, known.id());
    if (missing + held.points <= known.points) return;
    std::set<std::string> own;
    for (const KeyedPoint& keyed : run.points) own.insert(keyed.key.text());
    std::erase_if(held.keys, [&](const SeriesKey& key) { return own.contains(key.text()); });
    throw ConfigError(fmt::format(
        "{} was added to {} as commit {} with other facts ({}), and a file counts once for a "
        "commit. Give the same facts again, or add it to another store.",
        run.file, folder_.name(), known.commit,
        escape_for_terminal(least_differences(held.keys, *first))));
  }
  /// Returns whether the point was missing. A killed writer may have left it.
  bool add(const KeyedPoint& keyed, const std::string& run) {
    Growing& series = series_of(keyed.key);
    const Point point = point_of(keyed, run);
    if (!series.there.emplace(point.run, point.part).second) return false;
    series.lines += point_line(point);
    return true;
  }

  const HistoryFolder& folder_;
  Changes changes_;
  CommitNames names_;
  AddReport report_;
  std::multimap<std::string, RunRecord> runs_;  ///< by the hash of their file
  std::set<std::string> recorded_;              ///< ids of the runs that were added whole
  std::map<std::string, Growing> series_;       ///< by file
  std::string records_;
};

/// The names of all commits once the runs are added.
CommitNames names_with(std::span<const RunRecord> there, std::span<const ImportedRun> runs) {
  std::vector<std::string> names;
  for (const RunRecord& record : there) names.push_back(record.commit);
  for (const ImportedRun& run : runs) names.push_back(run.commit);
  return CommitNames(std::move(names));
}

}  // namespace

CommitNames commit_names(std::span<const RunRecord> runs) {
  std::vector<std::string> names;
  names.reserve(runs.size());
  for (const RunRecord& record : runs) names.push_back(record.commit);
  return CommitNames(std::move(names));
}

std::vector<std::string> notes_on_equal_files(std::span<const RunRecord> there,
                                              std::span<const ImportedRun> runs) {
  const CommitNames names = names_with(there, runs);
  std::vector<std::string> notes;
  for (const ImportedRun& run : runs) {
    const std::string hash = run.is_dated ? "" : sha256(run.content);
    const std::string commit = names.whole(run.commit);
    const RunRecord* equal = nullptr;
    for (const RunRecord& record : there) {
      if (record.sha256 != hash) continue;
      equal = &record;
      if (names.whole(record.commit) == commit) break;
    }
    if (equal == nullptr || names.whole(equal->commit) == commit) continue;
    notes.push_back(
        fmt::format("{} has the same content as {} of commit {} and states no time, so it counts "
                    "as a measurement of {}, too",
                    escape_for_terminal(run.file), escape_for_terminal(equal->file), equal->commit,
                    run.commit));
  }
  return notes;
}

Error none_whole(const std::string& store, std::size_t incomplete) {
  return {ExitCode::nothing_measured,
          fmt::format("{} has {} points, all of runs that were not added whole: {} does not have "
                      "them. Add their files again, or restore {}.",
                      store, incomplete, runs_file, runs_file)};
}

Store::Store(std::filesystem::path folder) : folder_(std::move(folder)) {}

bool Store::is_there() {
  // This file is written as a whole, so it needs no final line break, unlike appended lines.
  auto format = folder_.read_all(format_file);
  if (!format) {
    const std::vector<std::string> files = folder_.files("");
    format = folder_.read_all(format_file);  // again: another writer may just have made them
    if (!format && files.empty()) return false;
    if (!format) {
      throw ConfigError(
          fmt::format("{} has no {}, but other files ({}), so no history is made there. Name "
                      "another store.",
                      folder_.name(), format_file, escape_for_terminal(files.front())));
    }
  }
  if (!is_known_format(*format)) {
    throw ConfigError(fmt::format(
        "{} of {} is {}, and this program reads version {} of {}. Use the dlscale that "
        "wrote it, or a later one.",
        format_file, folder_.name(), escape_for_terminal(format->substr(0, format->find('\n'))),
        history_version, history_schema));
  }
  return true;
}

void Store::expect_history() {
  if (is_there()) return;
  throw ConfigError(
      fmt::format("{} is empty: nothing was added yet. Add results first, "
                  "or name another store.",
                  folder_.name()));
}

AddReport Store::add(std::span<const ImportedRun> runs) {
  AddReport report;
  const auto plan = [&] {
    Changes first;
    std::vector<RunRecord> there;
    if (is_there()) {
      there = this->runs();
    } else {
      first.created = {{format_file, format_text()},
                       {".gitattributes", git_attributes},
                       {".gitignore", git_ignores}};
    }
    Plan update(folder_, std::move(first), there, names_with(there, runs));
    for (const ImportedRun& run : runs) update.add(run);
    Changes changes = update.changes();
    report = update.report();
    return changes;
  };
  folder_.update(plan);
  return report;
}

std::vector<RunRecord> Store::runs() {
  expect_history();
  std::vector<RunRecord> all;
  std::set<std::string> seen;
  const std::string content = folder_.read(runs_file).value_or("");
  each_line(runs_file, content, folder_.name(), [&](std::size_t, std::string_view line) {
    RunRecord record = parse_record(line);
    if (seen.insert(record.run).second) all.push_back(std::move(record));
  });
  return all;
}

std::vector<Annotation> Store::annotations() {
  expect_history();
  std::vector<Annotation> all;
  const std::string content = folder_.read(annotations_file).value_or("");
  each_line(annotations_file, content, folder_.name(),
            [&](std::size_t, std::string_view line) { all.push_back(parse_annotation(line)); });
  if (all.empty()) return all;
  const CommitNames names = commit_names(runs());
  for (Annotation& annotation : all) annotation.commit = names.whole(annotation.commit);
  // Merging two branches appends the lines of one to those of the other, regardless of time.
  std::ranges::stable_sort(all, {}, &Annotation::time);
  return all;
}

void Store::annotate(const std::function<Annotation()>& decide) {
  expect_history();
  folder_.update([&] {
    Changes changes;
    changes.last = {annotations_file, annotation_line(decide())};
    return changes;
  });
}

Reading Store::each_series(const std::function<bool(const SeriesKey&)>& wanted,
                           const std::function<void(Series&&)>& visit) {
  const std::vector<RunRecord> records = runs();
  RecordedPoints recorded(records);
  const CommitNames names = commit_names(records);
  bool all_are_read = true;
  const std::vector<std::string> files = folder_.files("series");
  for (const std::string& file : files) {
    const std::string content = folder_.read(file).value_or("");
    Series series;
    series.points.reserve(static_cast<std::size_t>(std::ranges::count(content, '\n')));
    Values values = Values::any;
    recorded.begin_series();
    bool skipped = content.empty();
    each_line(file, content, folder_.name(), [&](std::size_t number, std::string_view line) {
      if (is_head(number, line)) {
        if (number > 1) return expect_key(line, series.key);
        series.key = parse_head(line);
        values = values_of(series.key);
        skipped = !wanted(series.key);
        if (skipped) all_are_read = false;
        return;
      }
      if (skipped) return;
      Point point = parse_point_of(values, line);
      switch (recorded.take(point)) {
        case Taken::of_no_run:
          ++series.incomplete;
          break;
        case Taken::again:
          break;
        case Taken::first:
          if (!names.are_whole()) point.commit = names.whole(point.commit);
          series.points.push_back(std::move(point));
      }
    });
    if (!skipped) visit(std::move(series));
  }
  return {.series = files.size(),
          .lost = all_are_read ? recorded.lost() : 0,
          .ambiguous = names.ambiguous()};
}

std::filesystem::path Store::file_of(const RunRecord& run) {
  const std::string file = kept_file(run.sha256);
  if (sha256(folder_.read_all(file).value_or("")) == run.sha256) return folder_.path(file);
  throw ConfigError(
      fmt::format("{} of {} is missing or is not as it was added. Restore it, or add {} again.",
                  file, folder_.name(), run.file));
}

}  // namespace dlscale::regression::history
