#include "regression/history/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "core/base/error.hpp"
#include "core/results/json_count.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/json_problem.hpp"
#include "core/text/time_text.hpp"
#include "regression/history/recorded_points.hpp"
#include "regression/history/series_key.hpp"

namespace dlscale::regression::history {
namespace {

using nlohmann::json;

constexpr const char* format_file = "format.json";
constexpr const char* runs_file = "runs.jsonl";
constexpr const char* annotations_file = "annotations.jsonl";
constexpr std::string_view history_schema = "dlscale.history";
constexpr std::string_view series_schema = "dlscale.series";
constexpr int version = 1;

std::string format_text() {
  return json{{"schema", history_schema}, {"version", version}}.dump() + "\n";
}

bool is_known_format(std::string_view text) {
  try {
    expect_json_depth(text);
    const json value = json::parse(text);
    return value.at("schema") == history_schema && value.at("version") == version;
  } catch (const json::exception&) {
    return false;
  } catch (const ConfigError&) {
    return false;
  }
}

/// Git keeps every file unmodified, byte by byte. Merging two branches keeps the lines of both
/// sides, in any order.
constexpr const char* git_attributes = "* -text\n*.jsonl merge=union\n";
constexpr const char* git_ignores = ".lock\n";

std::string series_head(const SeriesKey& key) {
  return fmt::format("{{\"schema\":\"{}\",\"version\":{},\"key\":{}}}\n", series_schema, version,
                     key.text());
}

std::string record_line(const RunRecord& record) {
  json line{{"run", record.run},       {"commit", record.commit}, {"time", time_text(record.time)},
            {"format", record.format}, {"file", record.file},     {"points", record.points},
            {"facts", record.facts}};
  if (record.ancestors > 0) line["ancestors"] = record.ancestors;
  if (record.sha256 != record.run) line["sha256"] = record.sha256;
  return line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

RunRecord parse_record(std::string_view line) {
  try {
    expect_json_depth(line);
    const json value = json::parse(line);
    RunRecord record;
    record.run = value.at("run");
    record.sha256 = value.value("sha256", record.run);
    record.commit = value.at("commit");
    record.time = parse_time(value.at("time").get<std::string>(), "\"time\"");
    record.format = value.at("format");
    record.file = value.at("file");
    record.points = json_count<std::size_t>(value.at("points"), "points");
    record.facts = value.at("facts").get<Facts>();
    if (value.contains("ancestors")) {
      record.ancestors = json_count<std::uint64_t>(value.at("ancestors"), "ancestors");
    }
    return record;
  } catch (const json::exception& error) {
    throw ConfigError(json_problem(error, line));
  }
}

/// Calls `read` with each line and adds the place to its errors.
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

SeriesKey parse_head(std::string_view line) {
  try {
    expect_json_depth(line);
    const json head = json::parse(line);
    if (head.value("schema", "") != series_schema) {
      throw ConfigError(fmt::format("the schema of the first line is {}, not \"{}\"",
                                    escape_for_terminal(head.value("schema", "")), series_schema));
    }
    if (head.at("version") != version) {
      throw ConfigError(fmt::format("version {} of series is not known here",
                                    escape_for_terminal(head.at("version").dump())));
    }
    return parse_series_key(head.at("key").dump());
  } catch (const json::exception& error) {
    throw ConfigError(json_problem(error, line));
  }
}

/// Parses a point of a series. Rejects a median that no import produces: it has no ratio to the
/// others, so the series would be excluded from judgement.
Point parse_point_of(Values values, std::string_view line) {
  Point point = parse_point(line);
  const double median = point.summary.median;
  const bool is_possible = values == Values::any || median > 0 ||
                           (values == Values::from_0 && median == 0);  // NaN was refused
  if (is_possible) return point;
  throw ConfigError(fmt::format("\"median\" is {}, which nothing measured of this series can be",
                                point.summary.median));
}

/// Runs and parts that the file of a series already has, whether or not the run is recorded.
using Parts = std::set<std::pair<std::string, int>>;

std::string series_file(const SeriesKey& key) {
  return fmt::format("series/{}.jsonl", key.file_stem());
}

std::string kept_file(const std::string& hash) {
  return fmt::format("files/{}/{}", hash.substr(0, 2), hash);
}

/// Lines to add to one series, and the points that its file already has.
struct Growing {
  std::string lines;
  Parts there;
  bool is_new = false;
};

/// Merged branches may repeat the first line of a series.
bool is_head(std::size_t number, std::string_view line) {
  return number == 1 || line.starts_with("{\"schema\":");
}

void expect_key(std::string_view line, const SeriesKey& key) {
  const std::string id = parse_head(line).id();
  if (id == key.id()) return;
  throw ConfigError(fmt::format("it begins the series {}, and the file is of {}", id, key.id()));
}

Growing look_at(const HistoryFolder& folder, const std::string& file, const SeriesKey& key) {
  Growing growing;
  const std::string content = folder.read(file).value_or("");
  growing.is_new = content.empty();
  if (growing.is_new) growing.lines = series_head(key);
  const Values values = values_of(key);
  each_line(file, content, folder.name(), [&](std::size_t number, std::string_view line) {
    if (is_head(number, line)) return expect_key(line, key);
    const Point point = parse_point_of(values, line);
    growing.there.emplace(point.run, point.part);
  });
  return growing;
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
    for (const RunRecord& record : there) runs_.emplace(record.sha256, record);
  }

  void add(const ImportedRun& run) {
    RunRecord record = record_of(run);
    const bool fresh = is_new(record);
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
  /// Whether the file is not there as this commit. Takes the name of the run that it is there as.
  [[nodiscard]] bool is_new(RunRecord& record) {
    const auto [begin, end] = runs_.equal_range(record.sha256);
    for (auto known = begin; known != end; ++known) {
      const RunRecord& there = known->second;
      if (names_.whole(there.commit) == names_.whole(record.commit)) {
        record.run = there.run;
        report_.there_already.push_back(record.file);
        return false;
      }
      if (record.run == record.sha256) {
        throw ConfigError(
            fmt::format("{} was added to {} as commit {}, and cannot be of {} as well, since it "
                        "says when it was measured. Measure that commit.",
                        record.file, folder_.name(), there.commit, record.commit));
      }
    }
    runs_.emplace(record.sha256, record);
    return true;
  }
  /// Returns whether the point was missing. A killed writer may have left it.
  bool add(const KeyedPoint& keyed, const std::string& run) {
    const std::string file = series_file(keyed.key);
    auto found = series_.find(file);
    if (found == series_.end()) {
      found = series_.emplace(file, look_at(folder_, file, keyed.key)).first;
    }
    Point point = keyed.point;
    point.run = run;
    if (!found->second.there.emplace(point.run, point.part).second) return false;
    found->second.lines += point_line(point);
    return true;
  }

  const HistoryFolder& folder_;
  Changes changes_;
  CommitNames names_;
  AddReport report_;
  std::multimap<std::string, RunRecord> runs_;  ///< by the hash of their file
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
  const auto format = folder_.read_all(format_file);
  if (!format) {
    for (const std::string& file : folder_.files("")) {
      throw ConfigError(
          fmt::format("{} has no {}, but other files ({}), so no history is made there. Name "
                      "another store.",
                      folder_.name(), format_file, escape_for_terminal(file)));
    }
    return false;
  }
  if (!is_known_format(*format)) {
    throw ConfigError(fmt::format(
        "{} of {} is {}, and this program reads version {} of {}. Use the dlscale that "
        "wrote it, or a later one.",
        format_file, folder_.name(), escape_for_terminal(format->substr(0, format->find('\n'))),
        version, history_schema));
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

void Store::annotate(const Annotation& annotation) {
  expect_history();
  folder_.update([&] {
    Changes changes;
    changes.last = {annotations_file, annotation_line(annotation)};
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
