#include "tests/fuzz/row_counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/text/escape_for_terminal.hpp"
#include "regression/import/content_kind.hpp"

namespace dlscale::fuzz {
namespace {

namespace history = regression::history;
using nlohmann::json;

/// Rows of a file, or sides of rows where a row has two.
struct RowCount {
  std::size_t least = 0;  ///< surely there
  std::size_t most = 0;   ///< those that a damaged file may have
};

std::vector<std::string> lines_of(const std::string& content) {
  std::istringstream stream(content);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

bool is_whole(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_decimal(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size();
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// An undamaged row of nccl-tests has two sides of four columns. "N/A" is a time that none
/// measured.
std::size_t sides_of_nccl_row(const std::string& line) {
  constexpr std::size_t columns = 4;
  constexpr std::size_t least_words = 2 * columns + 3;
  constexpr std::size_t most_words = 2 * columns + 5;
  const std::vector<std::string> words = words_of(line);
  if (words.size() < least_words || words.size() > most_words) return 0;
  if (!is_whole(words[0]) || !is_whole(words[1])) return 0;
  std::size_t sides = 0;
  for (std::size_t at = words.size() - 2 * columns; at < words.size(); ++at) {
    if (!is_decimal(words[at]) && words[at] != "N/A") return 0;
    const bool is_time = (words.size() - at) % columns == 0;
    if (is_time && words[at] != "N/A") ++sides;
  }
  return sides;
}

/// A line that begins as a row of OSU's benchmarks does: with a size, then numbers or a verdict.
bool begins_as_osu_row(const std::vector<std::string>& words) {
  return words.size() >= 2 && is_whole(words[0]) &&
         std::all_of(words.begin() + 1, words.end(), [](const std::string& word) {
           return is_decimal(word) || word == "Pass" || word == "Fail";
         });
}

/// The columns of undamaged headings of OSU's benchmarks, set apart by two blanks or more; 0 for
/// other headings.
std::size_t osu_columns(std::string_view line) {
  constexpr std::array<std::string_view, 7> known{
      "Size",       "Avg Latency(us)",  "Min Latency(us)", "Max Latency(us)",
      "Iterations", "Bandwidth (MB/s)", "Validation"};
  line.remove_prefix(line.find("# Size") + 2);
  std::size_t columns = 0;
  while (!line.empty()) {
    const std::string_view heading = line.substr(0, line.find("  "));
    if (std::find(known.begin(), known.end(), heading) == known.end()) return 0;
    ++columns;
    line.remove_prefix(heading.size());
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  }
  return columns;
}

/// Rows of OSU's benchmarks. Two rows that were joined are one line, of which no sample may come,
/// and so is a row of another program.
RowCount osu_rows(const std::string& content) {
  RowCount rows;
  bool has_headings = false;
  std::size_t columns = 0;
  bool is_in_other_table = false;
  for (const std::string& line : lines_of(content)) {
    if (has(line, "# Size")) {
      has_headings = true;
      is_in_other_table = false;
      columns = osu_columns(line);
      continue;
    }
    if (has(line, "busbw") || has(line, "#bytes")) is_in_other_table = true;
    const std::vector<std::string> words = words_of(line);
    const bool is_sure = !words.empty() && is_whole(words[0]);
    const bool fits = !is_in_other_table && (columns == 0 || words.size() == columns);
    if (has_headings && begins_as_osu_row(words)) ++rows.least;
    if (line.find_first_of("0123456789") != std::string::npos && (!is_sure || fits)) ++rows.most;
  }
  return rows;
}

/// Rows below the first headings; lines with a digit may be rows behind what a launcher prints.
template <class SidesOf>
RowCount rows_below(const std::string& content, std::string_view heading, SidesOf sides_of) {
  constexpr std::size_t most_sides = 2;
  RowCount rows;
  bool has_headings = false;
  for (const std::string& line : lines_of(content)) {
    has_headings = has_headings || has(line, heading);
    if (has_headings) rows.least += sides_of(line);
    if (line.find_first_of("0123456789") != std::string::npos) rows.most += most_sides;
  }
  return rows;
}

/// JSON with invalid numbers or text around it has no certain count.
constexpr std::size_t any = 1'000'000'000;

json parsed(const std::string& content) {
  return json::parse(content, nullptr, false);
}

RowCount elements(const std::string& content, const char* list) {
  const json document = parsed(content);
  if (!document.is_object() || !document.contains(list)) return {0, any};
  const std::size_t size = document.at(list).size();
  return {size, size};
}

bool is_number_at(const json& object, const char* key) {
  return object.contains(key) && object.at(key).is_number();
}

RowCount nccl_sides(const std::string& content) {
  const json document = parsed(content);
  if (document.is_discarded()) return rows_below(content, "busbw", sides_of_nccl_row);
  if (!document.is_object() || !document.contains("results")) return {0, any};
  RowCount sides;
  for (const json& row : document.at("results")) {
    sides.most += 2;
    if (!row.is_object() || !is_number_at(row, "size")) continue;
    for (const char* name : {"out_of_place", "in_place"}) {
      const json side = row.value(name, json());
      const bool is_whole_side = side.is_object() && is_number_at(side, "time") &&
                                 is_number_at(side, "alg_bw") && is_number_at(side, "bus_bw");
      sides.least += is_whole_side ? 1 : 0;
    }
  }
  return sides;
}

/// Starts of trainings on lines of their own.
RowCount starts(const std::string& content) {
  constexpr std::string_view mark = ":::MLLOG ";
  RowCount count;
  for (const std::string& line : lines_of(content)) {
    if (has(line, ":::MLLOG")) ++count.most;
    if (!line.starts_with(mark)) continue;
    const json event = parsed(line.substr(mark.size()));
    const bool is_start = event.is_object() && event.value("key", json()) == "run_start";
    if (is_start && is_number_at(event, "time_ms")) ++count.least;
  }
  return count;
}

/// The number behind " has " in a note: "has 2 further lines of run_start".
std::size_t number_behind_has(std::string_view note) {
  constexpr std::string_view word = " has ";
  const std::size_t at = note.find(word);
  if (at == std::string_view::npos) return 0;
  note.remove_prefix(at + word.size());
  std::size_t number = 0;
  std::from_chars(note.data(), note.data() + note.size(), number);
  return number;
}

/// Rows that a note tells of.
std::size_t told_by(std::string_view note, std::string_view format) {
  if (has(note, "counts once") || has(note, "count once")) return any;
  if (format == "MLPerf" && has(note, "further line")) return number_behind_has(note);
  constexpr std::string_view left_out = "left out: ";
  if (!note.starts_with(left_out)) return 0;
  note.remove_prefix(left_out.size());
  if (has(note, " printed into the file, which counts as one of ")) return 0;
  const bool is_whole_table = note.starts_with("the table ") || note.starts_with('"');
  if (format == "OSU" && is_whole_table) return any;
  std::size_t rows = 0;
  std::from_chars(note.data(), note.data() + note.size(), rows);
  const bool is_of_many = rows > 0 && (has(note, " without headings before") ||
                                       has(note, " below headings that are not "));
  if (format != "nccl-tests") return is_of_many ? rows : 1;
  if (is_of_many) return 2 * rows;
  if (note.starts_with("all rows of ")) return any;
  const bool is_row = note.starts_with("line ") || note.starts_with("result ");
  return is_row ? 2 : 1;
}

/// Whether samples of the metric stand for rows: each has one time or rate among its values.
bool is_counted(const history::ImportedRun& run, std::string_view metric) {
  return run.format != "nccl-tests" || metric == "time" || metric == "cputime";
}

std::size_t samples_of(const history::ImportedRun& run) {
  const bool is_one_each = run.format == "hyperfine" || run.format == "dlscale.validation";
  if (is_one_each) return run.points.size();  // the samples are of one row
  std::size_t samples = 0;
  for (const history::KeyedPoint& keyed : run.points) {
    if (is_counted(run, keyed.key.metric)) samples += keyed.point.summary.n;
  }
  return samples;
}

RowCount rows_of(const history::ImportedRun& run) {
  const std::string lines = history::unwrapped(run.content);
  const std::string& content = lines.empty() ? run.content : lines;
  if (run.format == "hyperfine") return elements(content, "results");
  if (run.format == "dlscale.validation") return elements(content, "runs");
  if (run.format == "nccl-tests") return nccl_sides(content);
  if (run.format == "MLPerf") return starts(content);
  if (run.format == "OSU") return osu_rows(content);
  return {0, any};
}

/// Rows of Google Benchmark by name: each repetition with a wall clock is a sample or has a note.
void expect_google_rows_told(const history::ImportedRun& run) {
  const json document = parsed(run.content);
  if (!document.is_object() || !document.contains("benchmarks")) return;
  std::map<std::string, std::size_t> rows;
  for (const json& row : document.at("benchmarks")) {
    const bool is_sure = row.is_object() && row.value("run_type", json()) == "iteration" &&
                         is_number_at(row, "real_time");
    if (!is_sure) continue;
    const json name = row.value("run_name", row.value("name", json()));
    if (name.is_string()) ++rows[name.get<std::string>()];
  }
  std::map<std::string, std::size_t> told;
  for (const history::KeyedPoint& keyed : run.points) {
    if (keyed.key.metric == "real_time") {
      told[keyed.key.axes.at("benchmark")] += keyed.point.summary.n;
    }
  }
  for (const auto& [name, count] : rows) {
    std::size_t named = told[name];
    for (const std::string& note : run.notes) {
      if (!note.starts_with("left out: ") || !has(note, escape_for_terminal(name))) continue;
      named += has(note, "several benchmarks have this name") ? any : 1;
    }
    if (named >= count) continue;
    throw std::logic_error(fmt::format("of {} rows {}, samples and notes tell of {}", count,
                                       escape_for_terminal(name), named));
  }
}

}  // namespace

std::size_t rows_told(const history::ImportedRun& run) {
  std::size_t told = samples_of(run);
  for (const std::string& note : run.notes) told += told_by(note, run.format);
  return told;
}

void expect_each_row_told(const history::ImportedRun& run) {
  if (run.format == "Google Benchmark") return expect_google_rows_told(run);
  const RowCount rows = rows_of(run);
  const std::size_t samples = samples_of(run);
  const std::size_t told = rows_told(run);
  if (told < rows.least) {
    throw std::logic_error(
        fmt::format("of {} rows, samples and notes tell of {}", rows.least, told));
  }
  if (samples > rows.most) {
    throw std::logic_error(fmt::format("{} rows became {} samples", rows.most, samples));
  }
}

std::size_t rows_in(std::string_view text, char comment) {
  std::size_t rows = 0;
  for (const std::string& line : lines_of(std::string(text))) {
    const std::size_t first = line.find_first_not_of(" \t\r\n\v\f");
    const bool is_row = first != std::string::npos && (comment == '\0' || line[first] != comment);
    rows += is_row ? 1 : 0;
  }
  return rows;
}

void expect_all_read(std::string_view what, std::size_t there, std::size_t read) {
  if (there == read) return;
  throw std::logic_error(fmt::format("of {} {}, {} are read", there, what, read));
}

}  // namespace dlscale::fuzz
