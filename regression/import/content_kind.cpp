#include "regression/import/content_kind.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/system/input_file.hpp"
#include "core/text/launcher_lines.hpp"
#include "regression/import/printed_json.hpp"

namespace dlscale::regression::history {
namespace {

using nlohmann::json;

constexpr std::size_t npos = std::string_view::npos;

/// Reads the outermost keys, and those of the first row of each list, until they identify the kind.
class KeyReader : public nlohmann::json_sax<json> {
 public:
  /// Kind identified by the keys so far. For damaged JSON, only these keys exist.
  [[nodiscard]] ContentKind kind() const {
    if (told_) return *told_;
    if ((has_context_ || rows_have_times_) && !rows_have_parts_) {
      return ContentKind::google_benchmark;
    }
    return results_may_be_commands_ ? ContentKind::hyperfine : ContentKind::unknown;
  }
  [[nodiscard]] bool is_told() const { return told_.has_value(); }
  /// Whether dlscale wrote it.
  [[nodiscard]] bool is_own() const { return is_own_; }

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool string(string_t& text) override {
    if (depth_ != 1 || key_ != "schema" || !text.starts_with("dlscale.")) return value();
    is_own_ = true;
    if (text == "dlscale.result") return tell(ContentKind::result);
    if (text == "dlscale.validation") return tell(ContentKind::validation);
    return tell(ContentKind::unknown);
  }
  bool key(string_t& name) override {
    if (is_in_first_row()) {
      row_key_ = name;
      // hyperfine calls each result by its command; other programs have lists of results, too.
      if (key_ == "results" && name == "command") return tell(ContentKind::hyperfine);
      const bool is_time = name == "real_time" || name == "cpu_time";
      rows_have_times_ = rows_have_times_ || (key_ == "benchmarks" && is_time);
    }
    if (depth_ != depth_of_keys) return true;
    key_ = name;
    row_key_.clear();
    is_first_row_ = true;
    if (name == "nccl_version") return tell(ContentKind::nccl_tests);  // option -J
    has_context_ = has_context_ || name == "context";
    has_benchmarks_ = has_benchmarks_ || name == "benchmarks";
    if (name == "results") results_may_be_commands_ = true;
    return true;
  }
  bool start_object(std::size_t) override {
    if (depth_ == depth_of_keys || is_in_first_row()) is_not_of_rows();
    ++depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ == 0) return tell(ContentKind::unknown);
    if (depth_ == depth_of_list || is_in_first_row()) is_not_of_rows();
    ++depth_;
    return true;
  }
  bool end_object() override {
    const bool ends_first_row = is_in_first_row();
    --depth_;
    if (depth_ == 0) return tell(kind_of_whole());
    if (!ends_first_row) return true;
    is_first_row_ = false;
    if (key_ == "results") results_may_be_commands_ = false;
    const bool is_google = key_ == "benchmarks" && !rows_have_parts_;
    return !is_google || !(has_context_ || rows_have_times_) || tell(ContentKind::google_benchmark);
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override {
    return false;
  }

 private:
  static constexpr std::size_t depth_of_keys = 1;
  static constexpr std::size_t depth_of_list = 2;
  static constexpr std::size_t depth_of_row = 3;

  [[nodiscard]] bool is_in_first_row() const { return depth_ == depth_of_row && is_first_row_; }
  /// The value of the outermost key is not a list of rows, or a row has parts of its own.
  void is_not_of_rows() {
    if (key_ == "benchmarks" && row_key_ != "name") rows_have_parts_ = true;
    if (key_ == "results" && depth_ != depth_of_row) results_may_be_commands_ = false;
  }
  bool value() {
    if (depth_ == 0) return tell(ContentKind::unknown);
    if (depth_ <= depth_of_list) is_not_of_rows();
    return true;
  }
  [[nodiscard]] ContentKind kind_of_whole() const {
    const bool has_rows = has_benchmarks_ && !rows_have_parts_;
    if (has_rows && (has_context_ || rows_have_times_)) return ContentKind::google_benchmark;
    return results_may_be_commands_ ? ContentKind::hyperfine : ContentKind::unknown;
  }
  /// Stops reading.
  bool tell(ContentKind kind) {
    told_ = kind;
    return false;
  }

  std::optional<ContentKind> told_;
  std::size_t depth_ = 0;
  std::string key_;      ///< the outermost
  std::string row_key_;  ///< of the first row
  bool is_own_ = false;
  bool is_first_row_ = true;
  bool has_context_ = false;
  bool has_benchmarks_ = false;
  bool rows_have_times_ = false;
  bool rows_have_parts_ = false;          ///< or "benchmarks" is not a list of objects
  bool results_may_be_commands_ = false;  ///< an empty list so far, or cut
};

KeyReader keys_of(std::string_view text) {
  KeyReader keys;
  json::sax_parse(text, &keys, json::input_format_t::json, /*strict=*/false);
  return keys;
}

/// The next line, from `from` on, that an object with keys may begin in: its first brace.
std::size_t next_object(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find('{', from); at != npos; at = text.find('{', at + 1)) {
    const std::size_t last = at == 0 ? npos : text.find_last_not_of(" \t\r", at - 1);
    const bool begins_line = last == npos || text[last] == '\n';
    const std::size_t next = text.find_first_not_of(" \t\r\n", at + 1);
    if (begins_line && next != npos && (text[next] == '"' || text[next] == '}')) return at;
  }
  return npos;
}

/// Behind the brace that closes an object; the end of the text if none does.
std::size_t end_of_object(std::string_view text, std::size_t begin) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const char letter = text[i];
    if (letter == '"') in_string = !in_string;
    if (in_string && letter == '\\') ++i;
    if (in_string) continue;
    if (letter == '{' || letter == '[') ++depth;
    if ((letter == '}' || letter == ']') && --depth == 0) return i + 1;
  }
  return text.size();
}

/// JSON of another program that begins in some line. Text that only resembles objects is tried as
/// long as all tries together take the time of reading the text a few times.
Content find_printed(std::string_view text, std::size_t from) {
  Content suggested;
  std::size_t left = 4 * text.size();
  std::size_t at = next_object(text, from);
  while (at != npos) {
    const KeyReader keys = keys_of(text.substr(at));
    const Content found{keys.kind(), at};
    const bool is_printed =
        found.kind == ContentKind::google_benchmark || found.kind == ContentKind::hyperfine;
    if (is_printed && keys.is_told()) return found;
    if (is_printed && suggested.kind == ContentKind::unknown) suggested = found;
    const std::size_t next = end_of_object(text, at);
    if (next - at > left) break;
    left -= next - at;
    at = next_object(text, next == text.size() ? at + 1 : next);
  }
  return suggested;
}

/// "# OSU", also with blanks of other widths.
bool has_title_of_osu(std::string_view text) {
  constexpr std::size_t widest_blank = 3;
  for (std::size_t at = text.find("OSU"); at != npos; at = text.find("OSU", at + 1)) {
    const std::size_t from = at - std::min(at, widest_blank + 1);
    const std::string_view before = text.substr(from, at - from);
    const std::size_t mark = before.rfind('#');
    if (mark == npos || mark + 1 == before.size()) continue;
    const auto may_be_blank = [](char one) {
      return one == ' ' || static_cast<unsigned char>(one) >= 0x80;
    };
    const std::string_view after = text.substr(at + 3, 1);
    const bool ends = !after.empty() && may_be_blank(after.front());
    if (ends && std::ranges::all_of(before.substr(mark + 1), may_be_blank)) return true;
  }
  return false;
}

/// A comment that names both rates of nccl-tests.
bool has_headings_of_nccl(std::string_view text) {
  for (std::size_t at = text.find("busbw"); at != npos; at = text.find("busbw", at + 1)) {
    const std::size_t begin = text.rfind('\n', at) + 1;  // npos + 1 is 0
    const std::string_view before = text.substr(begin, at - begin);
    if (before.find('#') != npos && before.find("algbw") != npos) return true;
  }
  return false;
}

ContentKind kind_of_text(std::string_view text) {
  if (text.find(":::MLLOG") != npos) return ContentKind::mllog;
  if (has_title_of_osu(text)) return ContentKind::osu;
  const bool nccl = text.find("nThread ") != npos || text.find("busbw") != npos;
  return nccl ? ContentKind::nccl_tests : ContentKind::unknown;
}

/// For JSON that ends or breaks before its keys identify it: a header has the schema anywhere in
/// its first line.
bool names_results_in_first_line(std::string_view content) {
  return content.substr(0, content.find('\n')).find("\"dlscale.result\"") != content.npos;
}

/// Processes whose lines may hold a document, by their labels: the first few.
std::set<std::string> printing_sources(std::string_view content) {
  constexpr std::size_t most = 4;
  std::set<std::string> sources;
  LauncherLines lines(content);
  for (LauncherLine line; sources.size() < most && lines.next(line);) {
    const std::size_t brace = line.text.find_first_not_of(" \t");
    if (brace == npos || line.text[brace] != '{') continue;
    if (next_object(line.text + "}", 0) == brace) sources.insert(line.source);
  }
  return sources;
}

/// The lines of one process, at the numbers that they have in the file.
std::string lines_of(const std::string& source, std::string_view content) {
  std::string text;
  std::size_t number = 1;
  LauncherLines lines(content);
  for (LauncherLine line; lines.next(line);) {
    if (line.source != source) continue;
    text.append(line.number - number, '\n');
    number = line.number;
    text += line.text;
  }
  return text;
}

/// The text whose lines all begin with their numbers, and perhaps the name of a file, as of grep -n
/// and cat -n; empty if it is another.
std::string unnumbered(std::string_view content) {
  const std::string_view first = content.substr(0, content.find('\n'));
  const std::string_view prefix = first.substr(0, std::min(first.find("1:"), first.find("1\t")));
  const bool is_aligned = prefix.find_first_not_of(' ') == npos;
  if (prefix.size() == first.size()) return "";
  std::string text;
  for (std::size_t number = 1; !content.empty(); ++number) {
    std::string_view line = content.substr(0, content.find('\n'));
    content.remove_prefix(std::min(line.size() + 1, content.size()));
    if (!is_aligned && !line.starts_with(prefix)) return "";
    line.remove_prefix(is_aligned ? std::min(line.find_first_not_of(' '), line.size())
                                  : prefix.size());
    const std::string own = std::to_string(number);
    if (!line.starts_with(own)) return "";
    line.remove_prefix(own.size());
    if (!line.starts_with(':') && !line.starts_with('\t')) return "";
    text.append(line.substr(1)).append("\n");
  }
  return text;
}

struct OtherProgram {
  std::string_view name;
  std::string_view word;           ///< that only its files have
  std::string_view word_beside{};  ///< likewise, if one alone is too common
};
constexpr std::array other_programs{
    OtherProgram{"pytest-benchmark", "\"machine_info\""},
    OtherProgram{"pytest-benchmark", "\"fullname\"", "\"stats\""},
    OtherProgram{"pyperf", "\"perf_version\""},
    OtherProgram{"pyperf", "\"warmups\"", "\"runs\""},
    OtherProgram{"mitata", "\"layout\"", "\"benchmarks\""},
    OtherProgram{"mitata", "\"alias\"", "\"runs\""},
    OtherProgram{"NVBench", "\"nvbench\""},
    OtherProgram{"NVBench", "\"devices\"", "\"benchmarks\""},
    OtherProgram{"JMH", "\"primaryMetric\""},
    OtherProgram{"JMH", "# JMH version:"},
    OtherProgram{"JMH", "\"Benchmark\",\"Mode\""},
    OtherProgram{"Criterion.rs", "\"benchmark-complete\""},
    OtherProgram{"Criterion.rs", "\"confidence_interval\"", "\"point_estimate\""},
    OtherProgram{"Criterion.rs", "\"sampling_mode\""},
    OtherProgram{"nanobench", "\"median(elapsed)\""},
    OtherProgram{"nanobench", "ns/op", "err%"},
    OtherProgram{"BenchmarkDotNet", "\"HostEnvironmentInfo\""},
    OtherProgram{"BenchmarkTools.jl", "\"BenchmarkTools\""},
    OtherProgram{"asv", "\"env_vars\""},
    OtherProgram{"asv", "\"commit_hash\"", "\"results\""},
    OtherProgram{"fio", "\"fio version\""},
    OtherProgram{"iperf3", "\"sum_received\""},
    OtherProgram{"ReFrame", "\"session_info\""},
    OtherProgram{"k6", "\"http_reqs\""},
    OtherProgram{"k6", "\"root_group\""},
    OtherProgram{"k6", "\"type\":\"Metric\""},
    OtherProgram{"Locust", "\"num_requests\""},
    OtherProgram{"Locust", "Request Count,Failure Count"},
    OtherProgram{"Catch2", "<Catch2TestRun"},
    OtherProgram{"Catch2", "\"catch2-version\""},
    OtherProgram{"Catch2", "benchmark name", "est run time"},
    OtherProgram{"PyTorch's profiler", "\"traceEvents\"", "\"deviceProperties\""},
    OtherProgram{"PyTorch's profiler", "Self CPU time total"},
    OtherProgram{"a profiler (a trace in Chrome's format)", "\"traceEvents\""},
    OtherProgram{"perf stat", "Performance counter stats for"},
    OtherProgram{"perf stat", "\"counter-value\""},
    OtherProgram{"perf stat", ",,cycles"},
    OtherProgram{"perf stat", ",msec,task-clock"},
    OtherProgram{"GNU time", "Elapsed (wall clock) time"},
    OtherProgram{"Google Benchmark in CSV", "name,iterations,real_time,cpu_time"},
    OtherProgram{"Google Benchmark, as a table", "Benchmark", "CPU   Iterations"},
    OtherProgram{"Google Benchmark, as a table", "Benchmark", "CPU Iterations"},
    OtherProgram{"hyperfine in CSV", "command,mean,stddev"},
    OtherProgram{"hyperfine, as a table", "| Command", " Mean ["},
    OtherProgram{"hyperfine, as a table", "Time (mean", "Range (min"},
    OtherProgram{"hyperfine, as a table", "Time (abs", "User:"},
    OtherProgram{"a program that rewrites JSON of Google Benchmark", "\"real_time\"",
                 "\"cpu_time\""},
    OtherProgram{"a program that rewrites JSON of hyperfine", "\"command\"", "\"times\""},
    OtherProgram{"Go's testing", "\nBenchmark", "ns/op"},
    OtherProgram{"Caliper", "\"columns\"", "\"nodes\""},
    OtherProgram{"Caliper", "\"cali.caliper.version\""},
    OtherProgram{"Caliper", "Min time/rank"},
    OtherProgram{"Caliper", "__rec="},
    OtherProgram{"the Intel MPI Benchmarks", "MPI Benchmarks", "#repetitions"},
    OtherProgram{"perftest (ib_write_bw, ib_read_lat)", "#iterations", "BW peak["},
    OtherProgram{"perftest (ib_write_bw, ib_read_lat)", "#iterations", "t_typical[usec]"},
    OtherProgram{"OMB-Py, OSU's benchmarks in Python", "# OMB"},
    OtherProgram{"HPL", "HPLinpack"},
    OtherProgram{"STREAM", "STREAM version"},
    OtherProgram{"benchdnn of oneDNN", "Output template: perf"},
    OtherProgram{"Horovod's synthetic benchmark", "Total img/sec"},
    OtherProgram{"nsys stats", "Time (%),Total Time (ns)"},
    OtherProgram{"SQLite, as of Nsight Systems", "SQLite format 3"},
    OtherProgram{"MLPerf's LoadGen", "MLPerf Results Summary"},
    OtherProgram{"MLPerf before version 0.7", ":::MLPv0."},
    OtherProgram{"MLPerf before version 0.7", ":::MLL "},
    OtherProgram{"MLPerf without its mark :::MLLOG", "\"time_ms\"", "\"event_type\""}};

/// Whether the first two lines are rows of equally many cells, of which the first are headings.
bool is_csv(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == npos || text.starts_with('{') || text.starts_with('[')) return false;
  const std::string_view heads = text.substr(0, end);
  const std::string_view row = text.substr(end + 1, text.find('\n', end + 1) - end - 1);
  for (const char separator : {',', ';', '\t'}) {
    const auto cells = std::ranges::count(heads, separator);
    if (cells > 0 && cells == std::ranges::count(row, separator)) return true;
  }
  return false;
}

std::string_view name_of(ContentKind kind) {
  switch (kind) {
    case ContentKind::google_benchmark:
      return "Google Benchmark";
    case ContentKind::hyperfine:
      return "hyperfine";
    case ContentKind::nccl_tests:
      return "nccl-tests";
    case ContentKind::osu:
      return "OSU's benchmarks";
    case ContentKind::mllog:
      return "MLPerf";
    case ContentKind::result:
    case ContentKind::validation:
    case ContentKind::unknown:
      break;
  }
  return "";
}

}  // namespace

Content find_content(std::string_view content) {
  const std::size_t start = content.find_first_not_of(" \t\n\v\f\r");
  const bool is_object = start != npos && content[start] == '{';
  const bool is_result = names_results_in_first_line(content);
  if (!is_object && is_result) return {ContentKind::result};
  std::size_t from = 0;
  if (is_object) {
    const KeyReader keys = keys_of(content);
    if (!keys.is_told() && is_result) return {ContentKind::result};
    if (keys.is_own() || keys.kind() != ContentKind::unknown) return {keys.kind(), start};
    const std::size_t end = end_of_object(content, start);
    from = end == content.size() ? start + 1 : end;
  }
  const Content printed = find_printed(content, from);
  if (printed.kind != ContentKind::unknown || is_object) return printed;
  if (const ContentKind kind = kind_of_text(content); kind != ContentKind::unknown) return {kind};
  for (const std::string& source : printing_sources(content)) {
    Content found = find_printed(lines_of(source, content), 0);
    found.is_labelled = true;
    if (found.kind != ContentKind::unknown) return found;
  }
  return {};
}

ContentKind kind_of_content(std::string_view content) {
  return find_content(content).kind;
}

std::vector<std::string_view> other_programs_in(std::string_view content, ContentKind kind) {
  std::vector<std::string_view> programs;
  if (kind == ContentKind::result || kind == ContentKind::validation) return programs;
  const auto add = [&](ContentKind other, bool is_there) {
    if (is_there && other != kind) programs.push_back(name_of(other));
  };
  add(ContentKind::mllog, content.find(":::MLLOG") != npos);
  add(ContentKind::osu, has_title_of_osu(content));
  add(ContentKind::nccl_tests, has_headings_of_nccl(content));
  return programs;
}

std::string unlabelled(std::string_view content) {
  std::string document;
  for (const std::string& source : printing_sources(content)) {
    std::string text = lines_of(source, content);
    if (find_printed(text, 0).kind == ContentKind::unknown) continue;
    if (!document.empty()) {
      throw ConfigError("several processes printed JSON. Keep the lines of one");
    }
    document = std::move(text);
  }
  return document;
}

std::string unwrapped(std::string_view content) {
  if (kind_of_content(content) != ContentKind::unknown) return "";
  std::string text = text_of_json_log(content);
  if (text.empty()) text = unnumbered(content);
  return kind_of_content(text) == ContentKind::unknown ? "" : text;
}

ContentKind kind_of_file(const std::filesystem::path& path) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return ContentKind::unknown;
  if (!std::ifstream(path)) return ContentKind::unknown;
  const std::string content = read_input(path, "Check the path.");
  const std::string text = unwrapped(content);
  return kind_of_content(text.empty() ? content : text);
}

std::string_view program_that_wrote(std::string_view content) {
  if (const ContentKind kind = kind_of_content(content); kind != ContentKind::unknown) {
    return name_of(kind);
  }
  constexpr std::size_t most = std::size_t{1} << 20U;
  const std::string_view beginning = content.substr(0, most);
  if (beginning.substr(0, beginning.find('\n')).find("\"dlscale.") != npos) return "";
  for (const OtherProgram& program : other_programs) {
    const bool is_there =
        beginning.find(program.word) != npos && beginning.find(program.word_beside) != npos;
    if (is_there) return program.name;
  }
  if (beginning.starts_with("<?xml")) return "a program that writes XML";
  if (!text_of_json_log(beginning).empty()) return "containers that log JSON";
  return is_csv(beginning) ? "a program that writes CSV" : "";
}

}  // namespace dlscale::regression::history
