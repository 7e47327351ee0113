#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/launcher_lines.hpp"
#include "regression/import/imports.hpp"
#include "regression/import/nccl_json.hpp"
#include "regression/import/nccl_test_run.hpp"
#include "regression/import/table_log.hpp"

namespace dlscale::regression::history {
namespace {

/// The words of a line, without the mark of a comment.
std::vector<std::string> words_of(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  if (line.starts_with('#')) line.remove_prefix(1);
  return words_in(std::string(line));
}

bool is_comment(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first != std::string_view::npos && text[first] == '#';
}

/// "20.1".
bool is_decimal(std::string_view word) {
  const std::size_t point = word.find('.');
  return point != word.npos && is_whole_number(word.substr(0, point)) &&
         is_whole_number(word.substr(point + 1));
}

/// Whether a row stands behind text of NCCL: a size, a count, a type, and what follows.
bool ends_with_row(const std::vector<std::string>& words) {
  constexpr std::size_t least = 8;
  for (std::size_t i = 0; i + least <= words.size(); ++i) {
    const bool has_letter = std::isalpha(static_cast<unsigned char>(words[i + 2].front())) != 0;
    if (is_whole_number(words[i]) && is_whole_number(words[i + 1]) && has_letter &&
        words.back().find_first_not_of("0123456789.e+-NA/") == std::string::npos) {
      return true;
    }
  }
  return false;
}

/// Whether a line within a table may hold a row: it begins with a number, or has many.
bool may_be_row(std::string_view text, const std::vector<std::string>& words) {
  constexpr std::string_view digits = "0123456789";
  if (is_line_of_nccl(text)) return ends_with_row(words);
  if (digits.find(words.front().front()) != std::string_view::npos) return true;
  const auto is_number = [digits](const std::string& word) {
    return digits.find(word.front()) != std::string_view::npos && word.find('.') != word.npos;
  };
  constexpr int times_and_rates = 3;
  return std::ranges::count_if(words, is_number) >= times_and_rates;
}

/// Whether the words end with two sides: a time, two rates, and a number of wrong elements.
bool has_sides(const std::vector<std::string>& words) {
  constexpr std::size_t columns = 4;
  constexpr std::size_t most = 2 * columns;
  if (words.size() < most) return false;
  for (std::size_t i = 0; i < most; ++i) {
    const std::string& word = words[words.size() - most + i];
    const bool counts_wrong = i % columns == columns - 1;
    if (counts_wrong ? !is_whole_number(word) && word != "N/A" : !is_decimal(word)) return false;
  }
  return true;
}

/// Whether the words have the shape of a row: a size and a count, or two sides if the size is
/// garbled so that it looks like the label of a launcher ("8:").
bool has_shape_of_row(const std::vector<std::string>& words) {
  constexpr std::size_t least = 8;
  if (words.size() < least || !is_whole_number(words[0])) return false;
  return is_whole_number(words[1]) || has_sides(words);
}

/// The tests that one process printed, one after the other.
class NcclLog {
 public:
  /// `place` names what a row was read from: "line".
  NcclLog(const RunOptions& options, std::string_view place, const LaunchTexts& launches)
      : options_(&options), place_(place), launches_(&launches) {}

  void read(const LauncherLine& line) {
    using Part = NcclTest::Part;
    const std::vector<std::string> words = words_of(line.text);
    if (words.empty()) return;
    const std::string& first = words.front();
    if (first == "nccl-tests" || first == "rccl-tests") {
      if (words.size() > 1 && words[1] == "version") test_at(Part::version).read_versions(words);
    } else if (line.text.find("Collective test starting: ") != std::string::npos) {
      test_at(Part::name).read_name(words.back());
    } else if (first == "nThread" || first == "nGpus") {
      test_at(Part::settings).read_settings(words);
    } else if (line.text.find("Blocking Enabled") != std::string::npos) {
      if (!tests_.empty()) tests_.back().read_blocking(line.text);
    } else if (first == "Rank" && words.size() > 1 && is_whole_number(words[1])) {
      (lists_ranks() ? tests_.back() : test_at(Part::ranks)).read_rank(line.text, words);
    } else if (is_comment(line.text) && words.back().ends_with("...") && lists_ranks()) {
      tests_.back().cut_ranks();
    } else if (NcclTable::has_headings(line.text)) {
      test_at(Part::headings).read_headings(line.text, last_comment_);
    } else if (line.text.find("Out of bounds values") != std::string::npos) {
      if (!tests_.empty()) tests_.back().read_verdict(words);
    } else if (line.text.find("Avg bus bandwidth") != std::string::npos) {
      if (!tests_.empty()) tests_.back().read_bandwidth(line.text);
    } else if (!is_comment(line.text)) {
      const bool is_in_table = !tests_.empty() && tests_.back().has_headings();
      if (is_in_table) return read_in_table(line, words);
      if (has_shape_of_row(words) && may_be_row(line.text, words)) without_headings_.read(line);
    }
    if (is_comment(line.text)) last_comment_ = line.text;
  }

  [[nodiscard]] std::vector<NcclTest>& tests() { return tests_; }
  [[nodiscard]] const RowsWithoutHeadings& without_headings() const { return without_headings_; }
  [[nodiscard]] bool has_headings() const {
    return std::ranges::any_of(tests_, &NcclTest::has_headings);
  }

 private:
  [[nodiscard]] bool lists_ranks() const {
    return !tests_.empty() && tests_.back().part() == NcclTest::Part::ranks;
  }

  /// The test that the part belongs to: the last one, or a new one if that is past this part.
  NcclTest& test_at(NcclTest::Part part) {
    if (tests_.empty() || tests_.back().part() >= part) tests_.emplace_back();
    return tests_.back();
  }

  void read_in_table(const LauncherLine& line, const std::vector<std::string>& words) {
    NcclTest& test = tests_.back();
    if (test.part() == NcclTest::Part::verdict) {
      const bool has_sizes =
          words.size() >= 2 && is_whole_number(words[0]) && is_whole_number(words[1]);
      if (!has_sizes && !has_sides(words)) return;
      return test.note(fmt::format("left out: {} {}, which comes after the end of {}", place_,
                                   line.number, test.name()));
    }
    if (may_be_row(line.text, words)) return read_row(line);
    const bool is_of_nccl = line.text.find(" NCCL INFO ") != std::string::npos ||
                            line.text.find(" NCCL TRACE ") != std::string::npos;
    if (!is_of_nccl) test.read_other(line);
  }

  /// A row that launchers or other programs garbled is left out.
  void read_row(const LauncherLine& line) {
    NcclTest& test = tests_.back();
    test.expect_name(*options_);
    if (test.rows() == 0) test.set_launch(launches_->last());
    try {
      test.read_row(line.text);
    } catch (const ConfigError& error) {
      test.note(fmt::format("left out: {} {}: {}", place_, line.number, error.what()));
    }
  }

  const RunOptions* options_;
  std::string_view place_;
  const LaunchTexts* launches_;
  std::string last_comment_;
  std::vector<NcclTest> tests_;
  RowsWithoutHeadings without_headings_;
};

/// Points and notes that a log adds to a run.
ImportedRun added_by(NcclLog& log) {
  ImportedRun run;
  std::set<std::string> hosts;
  LaunchesOfSeries launches;
  for (NcclTest& test : log.tests()) {
    const std::size_t before = run.points.size();
    test.add_to(run, hosts);
    for (std::size_t i = before; i < run.points.size(); ++i) {
      launches.add(run.points[i].key, test.launch());
    }
  }
  launches.expect_one_each();
  if (!hosts.empty()) run.facts["hosts"] = fmt::format("{}", fmt::join(hosts, ", "));
  return run;
}

/// Refuses tests that only one axis could tell apart.
void expect_names(const std::vector<NcclTest>& tests) {
  const auto unnamed = std::ranges::count_if(
      tests, [](const NcclTest& test) { return test.rows() > 0 && !test.has_name(); });
  if (unnamed < 2) return;
  throw ConfigError(
      fmt::format("it has {} tests that do not name their collective. Cut it into a file for each, "
                  "and write the line \"# Collective test starting: all_reduce_perf\" first in "
                  "each, with its collective.",
                  unnamed));
}

/// Tells that tests of the same name count as repetitions.
void note_repetitions(const std::vector<NcclTest>& tests, ImportedRun& run) {
  std::map<std::string, int> times;
  for (const NcclTest& test : tests) times[test.name()] += test.rows() > 0 ? 1 : 0;
  for (const auto& [name, count] : times) {
    if (count < 2) continue;
    run.notes.push_back(fmt::format(
        "the file has {} tests of {}; equal rows of theirs are repetitions of a run", count, name));
  }
}

/// Why a file that looks like one of nccl-tests has no headings.
std::string missing_headings(std::string_view content) {
  LauncherLines lines(content);
  for (LauncherLine line; lines.next(line);) {
    const std::size_t mark = line.text.find('#');
    if (mark == std::string::npos || mark == 0) continue;
    if (!NcclTable::has_headings(std::string_view(line.text).substr(mark))) continue;
    return fmt::format(
        "the headings in line {} come after {}, which launchers are not known to print. Cut it off "
        "each line.",
        line.number, quoted_line(std::string_view(line.text).substr(0, mark)));
  }
  return "it has no headings of nccl-tests";
}

/// The log that counts. Every process of a launch may have printed the same table; different ones
/// are no collective.
NcclLog& counting(std::map<std::string, NcclLog>& logs, ImportedRun& run, const JobErrors& errors) {
  std::erase_if(logs, [](const auto& log) { return !log.second.has_headings(); });
  if (logs.empty()) throw ConfigError(missing_headings(run.content) + errors.as_reason());
  NcclLog& first = logs.begin()->second;
  if (logs.size() == 1) return first;
  std::vector<std::string> names;
  bool all_same = true;
  NcclLog first_copy = first;
  const ImportedRun reference = added_by(first_copy);
  for (auto& [source, log] : logs) {
    names.push_back(source.empty() ? "no label" : source);
    NcclLog copy = log;
    all_same = all_same && are_same(reference, added_by(copy));
  }
  const std::string sources = escape_for_terminal(fmt::format("{}", fmt::join(names, ", ")));
  if (!all_same) {
    throw ConfigError(fmt::format(
        "the lines of {} have a table each, and these differ. If one launch printed them, its "
        "processes ran by themselves, so build nccl-tests with MPI=1; if several did, cut the file "
        "into one for each.",
        sources));
  }
  run.notes.push_back(
      fmt::format("the lines of {} have the same table, which counts once", sources));
  return first;
}

}  // namespace

Origin add_nccl_tests(ImportedRun& run, const RunOptions& options) {
  std::map<std::string, NcclLog> logs;
  JobErrors errors;
  LaunchTexts launches;
  const auto read = [&](const LauncherLine& line, std::string_view place) {
    try {
      errors.read(line);
      launches.read(line);
      logs.try_emplace(line.source, options, place, launches).first->second.read(line);
    } catch (const ConfigError& error) {
      if (line.number == 0) throw;
      throw ConfigError(fmt::format("{} {}: {}", place, line.number, error.what()));
    }
  };
  Origin origin;
  const bool is_json = run.content.find_first_not_of(" \t\r\n") == run.content.find('{');
  if (is_json) {
    NcclJsonText text = text_of_nccl_json(run.content, run.notes);
    for (const LauncherLine& line : text.lines) read(line, "result");
    origin.time = std::move(text.start_time);
  } else {
    LauncherLines lines(run.content);
    for (LauncherLine line; lines.next(line);) read(line, "line");
  }
  RowsWithoutHeadings without_headings;
  for (const auto& [source, log] : logs) {
    if (!log.has_headings()) without_headings.add(log.without_headings());
  }
  NcclLog& log = counting(logs, run, errors);
  without_headings.add(log.without_headings());
  std::size_t rows = 0;
  for (const NcclTest& test : log.tests()) rows += test.rows();
  if (rows == 0) {
    throw ConfigError("it has headings of nccl-tests and no rows" + errors.as_reason());
  }
  expect_names(log.tests());
  for (NcclTest& test : log.tests()) test.doubt_name(options);
  ImportedRun added = added_by(log);
  run.points = std::move(added.points);
  run.facts.merge(added.facts);
  run.notes.insert(run.notes.end(), added.notes.begin(), added.notes.end());
  without_headings.add_to(run);
  errors.add_to(run);
  note_repetitions(log.tests(), run);
  return origin;
}

}  // namespace dlscale::regression::history
