#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/launcher_lines.hpp"
#include "regression/import/imports.hpp"
#include "regression/import/table_log.hpp"

namespace dlscale::regression::history {
namespace {

constexpr std::string_view osu_title = "# OSU ";

/// The quantity of the first column of numbers.
struct OsuQuantity {
  std::string_view heading;
  const char* metric;
  const char* unit;
  Direction direction;
  double scale;
};
constexpr std::array osu_quantities{
    OsuQuantity{"Avg Latency(us)", "time", "s", Direction::smaller_is_better, 1e-6},
    OsuQuantity{"Latency (us)", "time", "s", Direction::smaller_is_better, 1e-6},
    OsuQuantity{"Latency(us)", "time", "s", Direction::smaller_is_better, 1e-6},
    OsuQuantity{"Overall(us)", "time", "s", Direction::smaller_is_better, 1e-6},
    OsuQuantity{"Bandwidth (MB/s)", "bandwidth", "B/s", Direction::larger_is_better, 1e6},
    OsuQuantity{"MB/s", "bandwidth", "B/s", Direction::larger_is_better, 1e6},
    OsuQuantity{"Messages/s", "message_rate", "1/s", Direction::larger_is_better, 1}};

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

std::string lower(std::string_view text) {
  std::string low(text);
  std::ranges::transform(low, low.begin(), [](unsigned char c) { return std::tolower(c); });
  return low;
}

std::vector<std::string> words_in(const std::string& text) {
  std::istringstream stream{text};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
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
    if (text.starts_with('#')) return read_comment(text);
    // Barriers of versions before 7 have headings without a mark.
    const bool is_bare_heading = !key_.suite.empty() && quantity_ == nullptr && is_quantity(text);
    if (is_bare_heading) return read_headings(text);
    if (key_.suite.empty() && is_whole_row(line)) without_headings_.read(line);
    if (key_.suite.empty() || !unread_.empty()) return;
    std::vector<std::string> words = words_in(line.text);
    if (words.empty()) return;
    if (!may_be_row(words) || is_line_of_nccl(text)) {
      if (quantity_ != nullptr && ends_with_row(words)) {
        leave_out(fmt::format("line {}, where a row may stand behind other text: {}", line.number,
                              quoted_line(text)));
      } else if (quantity_ != nullptr) {
        others_.read(line);
      }
      return;
    }
    if (quantity_ == nullptr) throw ConfigError("a row comes before its headings");
    ++rows_;
    if (!std::exchange(has_rows_, true)) launch_ = launches.last();
    others_.settle();
    try {
      read_row(std::move(words));
    } catch (const ConfigError& error) {
      leave_out(fmt::format("line {}: {}", line.number, error.what()));
    }
  }

  /// Says of a test that ended before its rows.
  void end_test() {
    columns_ = 0;
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
    std::map<std::string, int> rows;
    for (const KeyedPoint& point : points_) ++rows[point.key.text()];
    if (std::ranges::any_of(rows, [](const auto& row) { return row.second > 1; })) {
      run.notes.push_back(
          "the file has tests that are alike; equal rows of theirs are repetitions of a run");
    }
  }

 private:
  /// Whether the words may be a row: it begins with a number. Before the headings, names of hosts
  /// that begin so come, too.
  [[nodiscard]] bool may_be_row(const std::vector<std::string>& words) const {
    if (quantity_ == nullptr) return words.size() > 1 && is_whole_number(words.front());
    return is_whole_number(words.front().substr(0, 1));
  }

  /// Whether the last words are the numbers of a row, whose first may be glued to other text.
  [[nodiscard]] bool ends_with_row(const std::vector<std::string>& words) const {
    if (columns_ == 0 || words.size() < columns_) return false;
    const auto first = words.end() - static_cast<std::ptrdiff_t>(columns_);
    const auto is_value = [](const std::string& word) {
      return word.find('.') != std::string::npos &&
             word.find_first_not_of("0123456789.") == std::string::npos;
    };
    const bool has_size =
        !has_sizes_ || std::isdigit(static_cast<unsigned char>(first->back())) != 0;
    return has_size && is_value(has_sizes_ && columns_ > 1 ? *(first + 1) : *first);
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
    quantity_ = nullptr;
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
    if (!key_.suite.empty() && is_heading(text)) return read_headings(text);
    read_setting(text);
  }

  static bool is_heading(std::string_view text) {
    if (text.starts_with("# Size") || text.starts_with("# Operation")) return true;
    return is_quantity(trimmed(text.substr(1)));  // a barrier has no size
  }
  static bool is_quantity(std::string_view text) {
    return std::ranges::any_of(osu_quantities, [text](const OsuQuantity& known) {
      return text.starts_with(known.heading);
    });
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
      const bool may_be_of_next = key_.suite.empty() || quantity_ != nullptr;
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
    quantity_ = nullptr;
    has_sizes_ = line.starts_with("# Size");
    is_validated_ = line.find("Validation") != std::string_view::npos;
    has_transmit_size_ = line.find("Transmit Size") != std::string_view::npos;
    std::size_t first = std::string_view::npos;
    for (const OsuQuantity& known : osu_quantities) {
      const std::size_t at = line.find(known.heading);
      if (at >= first) continue;
      first = at;
      quantity_ = &known;
    }
    if (line.starts_with("# Operation")) quantity_ = nullptr;
    if (quantity_ != nullptr || !unread_.empty()) return;
    leave_unread(
        fmt::format("the table with the headings {}, since only a latency, a bandwidth or "
                    "Messages/s is read, of each size",
                    quoted_line(line.substr(1))));
  }

  /// Throws ConfigError unless the column of validations lets the row count. Sizes may be skipped.
  void expect_validity(const std::vector<std::string>& words, const std::string& row) const {
    bool passed = !is_validated_;
    for (const std::string& word : words) {
      const std::string verdict = lower(word);
      if (verdict.starts_with("fail")) throw ConfigError(row + " failed the validation");
      passed = passed || verdict == "pass" || verdict == "skipped";
    }
    if (!passed) throw ConfigError(row + " lacks the result of its validation");
  }

  /// "1048576   812.35", with further columns in full listings, and "Pass" or "Fail" with
  /// validation. A barrier has no size.
  void read_row(std::vector<std::string> words) {
    columns_ = words.size();
    const std::string size = has_sizes_ ? words.front() : "";
    if (has_sizes_) words.erase(words.begin());
    if (has_sizes_ && !is_whole_number(size)) {
      throw ConfigError(
          fmt::format("\"{}\" in column Size is not a whole number", escape_for_terminal(size)));
    }
    const std::string row = has_sizes_ ? size + " B" : "the row";
    if (words.empty()) throw ConfigError(row + " has no value");
    const std::string& value = words.front();
    const double read = printed_number(value, quantity_->heading) * quantity_->scale;
    if (!(read > 0) || !std::isfinite(read)) {
      throw ConfigError(fmt::format("{} with {} {}, which nothing measured can be", row,
                                    quantity_->heading, value));
    }
    expect_validity(words, row);
    if (has_transmit_size_) key_.axes["transmitted"] = words.back();
    add(size, read, printed_rounding(value) * quantity_->scale);
    last_row_ = row;
    last_value_ = words.size() == 1 ? value : "";
  }

  void add(const std::string& size, double value, double rounding) {
    SeriesKey key = key_;
    if (!size.empty()) key.axes["size"] = size;
    key.metric = quantity_->metric;
    key.unit = quantity_->unit;
    key.direction = quantity_->direction;
    Point point;
    point.summary = summarize(std::array{value});
    point.rounding = rounding;
    launches_of_series_.add(key, launch_);
    points_.push_back({std::move(key), std::move(point)});
  }

  std::vector<KeyedPoint> points_;
  std::vector<std::string> notes_;
  OtherLines others_;
  RowsWithoutHeadings without_headings_;
  SeriesKey key_;
  Facts settings_before_title_;
  std::string unread_;  ///< why the rows of this test do not count; empty: they do
  std::set<std::string> all_unread_;
  bool has_topology_ = false;  ///< the next test is of neighbors
  const OsuQuantity* quantity_ = nullptr;
  bool has_sizes_ = true;
  bool is_validated_ = false;
  bool has_transmit_size_ = false;  ///< the last column, of derived types
  std::size_t rows_ = 0;
  bool has_rows_ = false;    ///< of the last title
  std::size_t columns_ = 0;  ///< of its last row
  Launch launch_;            ///< that printed them
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
