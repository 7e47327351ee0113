#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/launcher_lines.hpp"
#include "regression/import/imports.hpp"
#include "regression/import/osu_table.hpp"
#include "regression/import/table_log.hpp"

namespace dlscale::regression::history {
namespace {

constexpr std::string_view osu_title = "# OSU ";

/// The axis of what a comment says that was measured; the pattern has its value as a group.
struct OsuSetting {
  re2::RE2 pattern;
  const char* axis;
};
const auto& osu_settings() {
  static const std::array settings{
      OsuSetting{R"(^# Datatype: (.+?)\.?\s*$)", "datatype"},
      OsuSetting{R"(^# Window(?: creation)?: (.+?)\s*$)", "window"},
      OsuSetting{R"(^# Synchronization: (.+?)\s*$)", "synchronization"},
      OsuSetting{R"(Send Buffer on \w+ \((\w+)\))", "send_buffer"},
      OsuSetting{R"(Receive Buffer on \w+ \((\w+)\))", "receive_buffer"},
      OsuSetting{R"(Number of (?:Sender \w+|forked processes in sender): (\d+))", "senders"},
      OsuSetting{R"(Number of (?:Receiver \w+|forked processes in receiver): (\d+))", "receivers"},
      OsuSetting{R"((?:\[ pairs|^# Pairs): (\d+))", "pairs"},
      OsuSetting{R"(\[ window size: (\d+) \])", "window_size"}};
  return settings;
}

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text.substr(0, text.find_last_not_of(" \t\r") + 1);
}

std::string_view without_end(std::string_view text, std::string_view end) {
  if (text.ends_with(end)) text.remove_suffix(end.size());
  return text;
}

/// The collective that a test times; nothing for variants, of which dlscale has no name.
std::optional<std::string_view> collective_of(std::string_view test) {
  test = without_end(without_end(test, " Latency"), " Bandwidth");
  return collective_named(without_end(test, " Personalized Exchange"));
}

/// Whether this is a version ("v7.3", "(Version 2.0)") or nothing.
bool is_version(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" (vVersion"), text.size()));
  return text.empty() || is_whole_number(text.substr(0, 1));
}

/// Whether a line holds a size and a value with decimals, as rows do. A launcher's label may be the
/// size: "1- 9.16".
bool is_whole_row(const LauncherLine& line) {
  const std::vector<std::string> words = words_in(line.text);
  const auto is_number = [](const std::string& word) {
    return word.find_first_not_of("0123456789.") == std::string::npos &&
           std::ranges::count(word, '.') < 2;
  };
  // Brackets around the name of a program look like a label.
  const std::size_t last = words.size() - 1;
  const bool is_behind_text =
      !line.source.empty() && words.size() > 2 &&
      std::isdigit(static_cast<unsigned char>(words[last - 1].back())) != 0 &&
      words[last].find('.') != std::string::npos && is_number(words[last]);
  if (is_behind_text) return true;
  const bool has_size = !line.source.empty() || (words.size() > 1 && is_whole_number(words[0]));
  return has_size && line.text.find('.') != std::string::npos &&
         std::ranges::all_of(words, is_number);
}

/// The tests that one process printed, one after the other.
class OsuReader {
 public:
  /// `launch` is the one that prints the table which comes next.
  void read(const LauncherLine& line, const LaunchTexts& launches) {
    const std::string_view text = trimmed(line.text);
    last_value_.clear();
    if (text.starts_with(osu_title)) return read_title(text.substr(osu_title.size()));
    if (text.starts_with("Time took to create topology graph")) {
      has_topology_ = true;
      return;
    }
    if (has_other_headings(text)) return end_at_other_table(line);
    if (text.starts_with('#')) return read_comment(text);
    const bool is_bare_heading =
        !key_.suite.empty() && !table_ && OsuTable::has_bare_headings(text);
    if (is_bare_heading) return read_headings(text);
    if (!other_tables_.read(line)) read_text(line, launches);
  }

  /// Says of a test that ended before its rows.
  void end_test() {
    const bool lacks_rows = !key_.suite.empty() && !has_rows_ && unread_.empty();
    if (lacks_rows) notes_.push_back(fmt::format("the test {} has no rows", test_name()));
    has_rows_ = false;
  }

  /// The log ends without a line break, so its last number may lack digits.
  void end_within_line() {
    constexpr double of_two_decimals = 0.0051;
    if (!last_value_.empty() && printed_rounding(last_value_) > of_two_decimals) {
      points_.pop_back();
      leave_out(
          fmt::format("{}, which ends in \"{}\" where the log is cut", last_row_, last_value_));
    }
  }

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] const RowsWithoutHeadings& without_headings() const { return without_headings_; }
  /// Why tables are not read, each once.
  [[nodiscard]] const std::set<std::string>& unread() const { return all_unread_; }
  /// Adds all that was read. Throws ConfigError if launches that differ printed equal rows.
  void add_to(ImportedRun& run) const {
    launches_of_series_.expect_one_each();
    run.points.insert(run.points.end(), points_.begin(), points_.end());
    run.notes.insert(run.notes.end(), notes_.begin(), notes_.end());
    for (const std::string& reason : all_unread_) run.notes.push_back("left out: " + reason);
    others_.add_to(run, "OSU's benchmarks");
    other_tables_.add_to(run, "OSU's benchmarks");
    std::map<std::string, int> rows;
    for (const KeyedPoint& point : points_) ++rows[point.key.text()];
    if (std::ranges::any_of(rows, [](const auto& row) { return row.second > 1; })) {
      run.notes.push_back(
          "the file has tests that are alike; equal rows of theirs are repetitions of a run");
    }
  }

 private:
  static bool has_other_headings(std::string_view text) {
    return !OsuTable::has_headings(text) && has_headings_of_columns(text);
  }

  /// Another program prints its table from here on.
  void end_at_other_table(const LauncherLine& line) {
    end_test();
    key_ = {};
    table_.reset();
    unread_.clear();
    other_tables_.begin(line);
  }

  /// A line that is neither a comment nor a heading.
  void read_text(const LauncherLine& line, const LaunchTexts& launches) {
    const std::string_view text = trimmed(line.text);
    if (key_.suite.empty() && is_whole_row(line)) without_headings_.read(line);
    if (key_.suite.empty() || !unread_.empty()) return;
    const std::vector<std::string> words = words_in(line.text);
    if (words.empty()) return;
    if (!may_be_row(words) || is_line_of_nccl(text)) return read_other(line, words);
    if (!table_) throw ConfigError("a row comes before its headings");
    ++rows_;
    if (!std::exchange(has_rows_, true)) launch_ = launches.last();
    others_.settle();
    try {
      add(table_->row(words));
    } catch (const ConfigError& error) {
      leave_out(fmt::format("line {}: {}", line.number, error.what()));
    }
  }

  /// A line that does not begin as a row does.
  void read_other(const LauncherLine& line, const std::vector<std::string>& words) {
    if (!table_) return;
    if (!has_rows_ || !table_->ends_with_row(words)) return others_.read(line);
    leave_out(fmt::format("line {}, where a row may stand behind other text: {}", line.number,
                          quoted_line(trimmed(line.text))));
  }

  /// Whether the words may be a row: it begins with a number. Before the headings, names of hosts
  /// that begin so come, too.
  [[nodiscard]] bool may_be_row(const std::vector<std::string>& words) const {
    if (!table_) return words.size() > 1 && is_whole_number(words.front());
    return is_whole_number(words.front().substr(0, 1));
  }

  void leave_out(const std::string& what) { notes_.push_back("left out: " + what); }

  [[nodiscard]] std::string test_name() const {
    const auto name = key_.axes.find("collective");
    return name == key_.axes.end() ? key_.axes.at("test") : name->second;
  }

  /// "MPI-CUDA Allreduce Latency Test v7.3".
  void read_title(std::string_view title) {
    end_test();
    constexpr std::string_view end = " Test";
    const std::size_t test = title.find(end);
    std::string_view version;
    if (test != std::string_view::npos && is_version(title.substr(test + end.size()))) {
      version = title.substr(test + end.size());
      version.remove_prefix(std::min(version.find_first_not_of(" v"), version.size()));
      title = title.substr(0, test);
    }
    title = trimmed(title);
    const std::size_t space = title.find(' ');
    key_ = {};
    key_.axes = std::exchange(settings_before_title_, {});
    table_.reset();
    other_tables_.end();
    unread_.clear();
    key_.suite = "OSU";
    key_.axes["library"] = std::string(title.substr(0, space));
    if (!trimmed(version).empty()) {
      key_.environment["OSU Micro-Benchmarks"] = std::string(trimmed(version));
    }
    std::string name(space == std::string_view::npos ? "" : title.substr(space + 1));
    // OSU gives osu_neighbor_alltoallw the title of osu_alltoallw.
    const bool is_of_neighbors = std::exchange(has_topology_, false);
    if (is_of_neighbors && name.find("Neighborhood") == std::string::npos) {
      name.insert(0, "Neighborhood ");
    }
    if (name == "Init" || name == "Hello World") {
      leave_unread(fmt::format(
          "\"{}\", since osu_init and osu_hello time no messages; osu_latency, osu_bw and the "
          "collectives do",
          name));
    }
    if (const auto collective = collective_of(name)) {
      key_.axes["collective"] = std::string(*collective);
    } else {
      key_.axes["test"] = std::move(name);
    }
  }

  void read_comment(std::string_view text) {
    if (!key_.suite.empty() && OsuTable::has_headings(text)) return read_headings(text);
    read_setting(text);
  }

  /// No row counts up to the next title.
  void leave_unread(std::string reason) {
    all_unread_.insert(reason);
    unread_ = std::move(reason);
  }

  /// Some tests print settings before their title, others between their tables.
  void read_setting(std::string_view text) {
    for (const OsuSetting& known : osu_settings()) {
      std::string value;
      const re2::StringPiece comment(text.data(), text.size());
      if (!re2::RE2::PartialMatch(comment, known.pattern, &value)) continue;
      key_.axes[known.axis] = value;
      const bool may_be_of_next = key_.suite.empty() || table_.has_value();
      if (may_be_of_next) settings_before_title_[known.axis] = value;
    }
    if (text.find("window size: varied") != std::string_view::npos ||
        text.find("varying window sizes") != std::string_view::npos) {
      leave_unread(
          "the table of several window sizes, which osu_mbw_mr -V prints; without -V it prints one "
          "that is read");
    }
  }

  void read_headings(std::string_view line) {
    settings_before_title_.clear();
    table_ = OsuTable::of(line);
    if (table_ || !unread_.empty()) return;
    leave_unread(
        fmt::format("the table with the headings {}, since only a latency, a bandwidth or "
                    "Messages/s is read, of each size",
                    quoted_line(line.substr(1))));
  }

  void add(const OsuRow& row) {
    SeriesKey key = key_;
    if (!row.size.empty()) key.axes["size"] = row.size;
    if (!row.transmitted.empty()) key.axes["transmitted"] = row.transmitted;
    key.metric = table_->quantity().metric;
    key.unit = table_->quantity().unit;
    key.direction = table_->quantity().direction;
    Point point;
    point.summary = summarize(std::array{row.value});
    point.rounding = row.rounding;
    launches_of_series_.add(key, launch_);
    points_.push_back({std::move(key), std::move(point)});
    last_row_ = row.name;
    last_value_ = row.last_value;
  }

  std::vector<KeyedPoint> points_;
  std::vector<std::string> notes_;
  OtherLines others_;
  RowsOfOtherTables other_tables_;
  RowsWithoutHeadings without_headings_;
  SeriesKey key_;  ///< of the test; without suite before the first title, and in other tables
  Facts settings_before_title_;
  std::string unread_;  ///< why the rows of this test do not count; empty: they do
  std::set<std::string> all_unread_;
  bool has_topology_ = false;      ///< the next test is of neighbors
  std::optional<OsuTable> table_;  ///< from its headings to the next title or other headings
  std::size_t rows_ = 0;
  bool has_rows_ = false;  ///< of the last title
  Launch launch_;          ///< that printed them
  LaunchesOfSeries launches_of_series_;
  std::string last_row_;    ///< the row that was read last
  std::string last_value_;  ///< its value, if nothing follows it; empty if it was left out
};

/// Adds the table that counts. Every process of a launch may have printed the same.
void add_one(std::map<std::string, OsuReader>& processes, ImportedRun& run) {
  std::optional<ImportedRun> first;
  std::vector<std::string> names;
  for (auto& [source, reader] : processes) {
    reader.end_test();
    ImportedRun added;
    reader.add_to(added);
    names.push_back(source.empty() ? "no label" : source);
    if (first && !are_same(*first, added)) {
      throw ConfigError(
          "several processes printed a table each, where rank 0 alone does, and these differ. Keep "
          "the lines of one launch.");
    }
    if (!first) first = std::move(added);
  }
  run.points.insert(run.points.end(), first->points.begin(), first->points.end());
  run.notes.insert(run.notes.end(), first->notes.begin(), first->notes.end());
  if (names.size() == 1) return;
  run.notes.push_back(fmt::format("the lines of {} have the same table, which counts once",
                                  escape_for_terminal(fmt::format("{}", fmt::join(names, ", ")))));
}

}  // namespace

Origin add_osu(ImportedRun& run) {
  std::map<std::string, OsuReader> processes;
  JobErrors errors;
  LaunchTexts launches;
  std::string last;
  LauncherLines lines(run.content);
  for (LauncherLine line; lines.next(line);) {
    errors.read(line);
    launches.read(line);
    try {
      processes[line.source].read(line, launches);
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("line {}: {}", line.number, error.what()));
    }
    last = line.source;
  }
  if (!run.content.ends_with('\n')) processes[last].end_within_line();
  RowsWithoutHeadings without_headings;
  std::set<std::string> unread;
  for (const auto& [source, reader] : processes) {
    without_headings.add(reader.without_headings());
    unread.insert(reader.unread().begin(), reader.unread().end());
  }
  std::erase_if(processes, [](const auto& process) { return process.second.rows() == 0; });
  if (processes.empty() && !unread.empty()) {
    throw ConfigError(fmt::format("it holds only what is not read: {}", *unread.begin()));
  }
  if (processes.empty()) {
    throw ConfigError("it has a title of OSU's benchmarks and no rows" + errors.as_reason());
  }
  add_one(processes, run);
  without_headings.add_to(run);
  errors.add_to(run);
  return {};
}

}  // namespace dlscale::regression::history
