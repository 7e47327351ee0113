// Files that the program writes and reads again: histories, results, gates and rounds; and words.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/results/measurement.hpp"
#include "core/results/result_json.hpp"
#include "core/system/input_file.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/name_pattern.hpp"
#include "core/text/quantity_text.hpp"
#include "core/text/shell_words.hpp"
#include "core/text/time_text.hpp"
#include "regression/gate/gate_report.hpp"
#include "regression/history/store.hpp"
#include "regression/rounds/round_lines.hpp"
#include "suite/cells/row.hpp"
#include "suite/launch/slurm.hpp"
#include "tests/fuzz/row_counts.hpp"
#include "tests/fuzz/targets.hpp"

namespace dlscale::fuzz {
namespace {

namespace fs = std::filesystem;
namespace history = regression::history;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

void expect_equal(std::string_view what, const std::string& a, const std::string& b) {
  if (a == b) return;
  throw std::logic_error(fmt::format("{} is another once it was written: {} {}", what,
                                     escape_for_terminal(a), escape_for_terminal(b)));
}

/// The header of a result file, its first measurements and a line that counts them.
std::string beginning_of(const fs::path& path, std::size_t measurements) {
  std::istringstream stream(read_input(path, "Get it again from the repository."));
  std::string text;
  std::string line;
  for (std::size_t i = 0; i <= measurements; ++i) {
    if (!std::getline(stream, line)) {
      throw std::logic_error(
          fmt::format("{} is not a result file of so many lines", path.string()));
    }
    text += line + '\n';
  }
  return text + fmt::format("{{\"end\":{{\"measurements\":{}}}}}\n", measurements);
}

history::ImportedRun run_of(const history::SeriesKey& key) {
  history::ImportedRun run;
  run.content = "a run";
  run.commit = "c9";
  history::Point point;
  point.commit = run.commit;
  point.summary = summarize(std::array{1.0});
  run.points.push_back({key, point});
  return run;
}

/// Lays the files of a history below `folder`; those of series have the name of their key.
void lay_out(std::string_view text, const fs::path& folder) {
  std::string name = "format.json";
  std::ofstream file;
  for (const std::string_view line : lines_of(text)) {
    if (!line.starts_with("%% ")) {
      if (file.is_open()) file << line << '\n';
      continue;
    }
    file.close();
    const std::string_view place = line.substr(3);
    for (const std::string_view known :
         {"format.json", "runs.jsonl", "annotations.jsonl", "series/a.jsonl", "series/b.jsonl"}) {
      if (place == known) file.open(folder / known, std::ios::binary);
    }
  }
}

/// Points of all series, a run and part once: merged branches repeat lines.
std::size_t points_below(const fs::path& folder) {
  std::size_t points = 0;
  for (const auto& entry : fs::directory_iterator(folder / "series")) {
    std::set<std::pair<std::string, int>> seen;
    const std::string text = content_of(entry.path());
    for (const std::string_view line : lines_of(text)) {
      const nlohmann::json point = nlohmann::json::parse(line, nullptr, false);
      if (!point.is_object() || !point.contains("run") || !point.contains("part")) continue;
      seen.emplace(point.at("run"), point.at("part"));
    }
    points += seen.size();
  }
  return points;
}

/// Removes a folder at the end of its life.
struct Folder {
  explicit Folder(fs::path at) : path(std::move(at)) {
    fs::remove_all(path);
    fs::create_directories(path / "series");
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path path;
};

template <class Q>
void use_quantity(std::string_view word) {
  const auto value = parse_quantity<Q>(word, "--option");
  if (!std::isfinite(value.si())) throw std::logic_error("a quantity is not finite");
  if (value.si() < 0) return;
  const auto again = parse_quantity<Q>(to_text(value), "--option");
  const double half_a_byte = std::is_same_v<Q, Bytes> ? 0.5 : 0;  // bytes are written as wholes
  if (std::abs(again.si() - value.si()) > 0.01 * value.si() + half_a_byte) {
    throw std::logic_error(fmt::format("{} is read as {}", to_text(value), again.si()));
  }
}

void use_time(std::string_view word) {
  const std::int64_t time = parse_time(word, "--time");
  if (parse_time(time_text(time), "--time") != time) throw std::logic_error("a time is another");
}

void use_pattern(std::string_view word) {
  (void)NamePattern("--only", std::string(word)).is_in("conv batch=8 layer=conv1: time");
}

/// Whether the word is taken. Throws unless an error is one plain sentence.
template <class Use>
bool takes(std::string_view word, Use use) {
  try {
    use(word);
    return true;
  } catch (const Error& error) {
    const std::string sentence = error.what();
    if (!sentence.empty() && is_plain_line(sentence)) return false;
    throw std::logic_error("a word is refused by " + escape_for_terminal(sentence));
  }
}

}  // namespace

std::vector<std::string> store_seeds() {
  history::SeriesKey key;
  key.suite = "conv";
  key.axes = {{"layer", "conv1"}};
  key.metric = "time";
  key.unit = "s";
  const std::string point =
      R"("part":0,"median":1.5,"mad":0.1,"low":1.25,"high":1.75,"min":1,"max":2,"n":5})";
  return {fmt::format(
      "%% format.json\n{{\"schema\":\"dlscale.history\",\"version\":1}}\n"
      "%% series/a.jsonl\n{{\"schema\":\"dlscale.series\",\"version\":1,\"key\":{}}}\n"
      "{{\"time\":\"2026-01-31T12:00:00Z\",\"commit\":\"c1\",\"run\":\"0123456789abcdef\",{}\n"
      "{{\"time\":\"2026-01-31T13:00:00Z\", "
      "\"commit\":\"c\\u00e9\",\"run\":\"0123456789abcdef\",{}\n"
      "%% runs.jsonl\n"
      "{{\"commit\":\"c1\",\"facts\":{{\"host\":\"h\"}},\"file\":\"a.jsonl\",\"format\":"
      "\"hyperfine\",\"points\":2,\"run\":"
      "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\",\"time\":"
      "\"2026-01-31T12:00:00Z\"}}\n"
      "%% annotations.jsonl\n{}",
      key.text(), point, point,
      history::annotation_line({.time = 1,
                                .commit = "c1",
                                .state = history::AlertState::expected,
                                .series = {key.id()},
                                .note = "why"}))};
}

void use_store(const fs::path& file) {
  const Folder folder(file.parent_path() / "store");
  lay_out(content_of(file), folder.path);
  history::Store store(folder.path);
  for (const history::Annotation& annotation : store.annotations()) {
    const std::string line = history::annotation_line(annotation);
    expect_equal("an annotation", line,
                 history::annotation_line(
                     history::parse_annotation(std::string_view(line).substr(0, line.size() - 1))));
  }
  history::SeriesKey key;
  std::size_t before = 0;
  std::size_t incomplete = 0;
  (void)store.each_series(
      [](const history::SeriesKey&) { return true; },
      [&](history::Series&& series) {
        key = series.key;
        before += series.points.size();
        incomplete += series.incomplete;
        for (const history::Point& point : series.points) {
          (void)history::parse_point(history::point_line(point).substr(0, std::string::npos));
        }
        (void)history::by_commit(series.points);
      });
  if (incomplete == 0) expect_all_read("points", points_below(folder.path), before);
  if (key.suite.empty()) return;
  const std::array runs{run_of(key)};
  const std::size_t added = store.add(runs).runs;
  std::size_t after = 0;
  (void)store.each_series([](const history::SeriesKey&) { return true; },
                          [&](history::Series&& series) { after += series.points.size(); });
  if (added == 1 && after < before + 1) throw std::logic_error("an added point is not there");
}

std::vector<std::string> gate_seeds() {
  regression::GateReport report;
  report.margin = 0.01;
  report.looks = {{8, 0.01}, {16, 0.05}};
  report.rounds = 16;
  report.base.command = {"./bench", "--out={out}"};
  report.changed = report.base;
  report.load = {0.5, 1.5};
  report.metrics.emplace_back();
  report.metrics.front().key = "conv";
  report.metrics.front().series = "time";
  report.metrics.front().unit = "s";
  report.metrics.front().base = 1;
  report.metrics.front().changed = 1;
  report.metrics.front().ratio = 1;
  report.missing = {{"gemm", "time", "s"}};
  report.notes = {"round 9 was set aside"};
  report.date = "2026-01-31T12:00:00Z";
  return {to_json(report)};
}

void use_gate(const fs::path& file) {
  const std::string text = content_of(file);
  const regression::GateReport report = regression::gate_report_of(text, "gate.json");
  const nlohmann::json metrics = nlohmann::json::parse(text).at("metrics");
  expect_all_read("metrics", metrics.size(), report.metrics.size());
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    expect_all_read("pairs", metrics[i].at("pairs").size(), report.metrics[i].pairs.size());
  }
  const std::string written = to_json(report);
  expect_equal("a gate", written, to_json(regression::gate_report_of(written, "gate.json")));
  if (!is_plain_line(gate_headline(report))) throw std::logic_error("a headline of several lines");
}

std::vector<std::string> round_seeds() {
  regression::Round round;
  round.number = 1;
  round.order = {"base", "new"};
  round.date = "2026-01-31T12:00:00Z";
  for (const std::string& arm : round.order) {
    regression::RunOutcome& run = round.runs[arm];
    run.values = {{.key = "conv", .series = "time", .unit = "s", .value = 1.5}};
    run.machine = {{"host", "h"}};
    run.files = {{"a.jsonl", {.machine = {{"host", "h"}}, .build = "b"}}};
    run.conditions.gpus["conv"] = {.slowed_by = {"heat"}, .power_limited = 0.5, .clock_hz = 1e9};
    run.conditions.load = 0.5;
    run.without_times = {"gemm: unsupported"};
  }
  return {regression::question_line("{\"seed\":1}") + regression::round_line(round)};
}

void use_rounds(const fs::path& file) {
  const auto written = [](const regression::RoundLines& lines) {
    std::string text = lines.question ? regression::question_line(*lines.question) : "";
    for (const regression::Round& round : lines.rounds) text += regression::round_line(round);
    return text;
  };
  const std::string file_text = content_of(file);
  const regression::RoundLines lines = regression::parse_round_lines(file_text, "rounds.jsonl");
  const auto whole_lines = static_cast<std::size_t>(std::ranges::count(file_text, '\n'));
  expect_all_read("lines", whole_lines, lines.rounds.size() + (lines.question ? 1 : 0));
  const std::string text = written(lines);
  expect_equal("a file of rounds", text,
               written(regression::parse_round_lines(text, "rounds.jsonl")));
  for (const std::string& note : regression::steady_rounds(lines.rounds).notes) {
    if (!is_plain_line(note)) throw std::logic_error("a note is not one plain line");
  }
}

std::vector<std::string> cell_seeds() {
  suite::CellRow row;
  row.cell = "gemm-1";
  row.status = suite::CellStatus::throttled;
  row.reason = "heat";
  row.seconds = 1.5;
  row.started = "2026-01-31T12:00:00Z";
  row.command = {"srun", "dlscale", "bench"};
  row.job_options = {"--time=10"};
  row.measurements = 2;
  row.before.throttled = 3;
  return {suite::to_line(row)};
}

void use_cells(const fs::path& file) {
  const std::string text = content_of(file);
  for (const std::string_view line : lines_of(text)) {
    const std::string written = suite::to_line(suite::parse_row(line));
    expect_equal("a cell", written, suite::to_line(suite::parse_row(written)));
  }
}

std::vector<std::string> slurm_seeds() {
  return {
      "node1|idle|none\nnode1|idle|none\nnode2|down*|Not responding\nnode3|drng|a [root@x]\n",
      "JobId=17 JobName=a UserId=u(1) JobState=PENDING Reason=ReqNodeNotAvail Dependency=(null)\n",
      "sbatch: verbose\nSubmitted batch job 17\n", "17;cluster\n"};
}

void use_slurm(const fs::path& file) {
  const std::string text = content_of(file);
  const std::vector<suite::SlurmNode> nodes = suite::parse_nodes(text);
  for (const std::string& shown : {suite::unusable_text(nodes), suite::lost_text(nodes)}) {
    if (!is_plain_line(shown)) throw std::logic_error("a list of nodes has several lines");
  }
  for (const std::string_view line : lines_of(text)) {
    const std::size_t bar = line.find('|');
    if (bar == line.npos || bar + 1 == line.size()) continue;  // without a state
    const auto is_of_line = [line](const suite::SlurmNode& node) {
      return line.find(node.name) != line.npos && line.find(node.state) != line.npos;
    };
    if (std::ranges::none_of(nodes, is_of_line)) throw std::logic_error("a node is lost");
  }
  const suite::SlurmJob job = suite::parse_job(text);
  if (nodes.empty() && job.state.empty() && suite::parse_submission(text).empty()) {
    throw ConfigError("Slurm does not say so");
  }
}

std::vector<std::string> word_seeds() {
  return {"25 GB/s",    "1.5 us",  "110 KiB",  "11.76 TFLOP/s", "2026-01-31T12:00:00+01:00",
          "2026-02-28", "10 days", "3 months", "1e3 s"};
}

void use_words(const fs::path& file) {
  const std::string word = content_of(file);
  (void)takes(word, use_pattern);
  (void)shell_word(word);
  const std::array taken{takes(word, use_quantity<Seconds>),
                         takes(word, use_quantity<Bytes>),
                         takes(word, use_quantity<BytesPerSecond>),
                         takes(word, use_quantity<FlopsPerSecond>),
                         takes(word, use_time),
                         takes(word, [](std::string_view said) {
                           (void)parse_since(said, "--since", 1'800'000'000);
                         })};
  if (std::ranges::count(taken, true) == 0)
    throw ConfigError("the word is neither a quantity nor a time");
}

std::vector<std::string> result_seeds() {
  const fs::path results = fs::path(DLSCALE_SOURCE_DIR) / "results/epyc-2vcpu";
  constexpr std::array<std::pair<std::string_view, std::size_t>, 6> beginnings{
      {{"2026-11-20-9b75409/overhead/alexnet.jsonl.gz", 1},
       {"2026-11-20-6538966/validation/e2e/alexnet-1-wait_free-1.jsonl.gz", 1},
       {"2026-11-22-conv/peak.jsonl.gz", 2},
       {"2026-11-22-conv/memory.jsonl.gz", 2},
       {"2026-11-20-6538966/validation/parts/update-1.jsonl.gz", 4},
       {"2026-11-22-hosts-train/10g/parts/comm-beside-64.jsonl.gz", 2}}};
  std::vector<std::string> texts;
  for (const auto& [path, measurements] : beginnings) {
    texts.push_back(beginning_of(results / path, measurements));
  }
  return texts;
}

void use_result_lines(const fs::path& file) {
  const ResultFile results = read_results(file);
  // A writer that was killed may have cut the last line.
  const std::size_t read = 1 + results.measurements.size() + (results.complete ? 1 : 0);
  const std::size_t there = rows_in(read_input(file, ""));
  expect_all_read("lines", there, read + (!results.complete && there == read + 1 ? 1 : 0));
  const std::string header = header_line(results.header);
  const auto line = [](const std::string& text) {
    return text.ends_with('\n') ? text.substr(0, text.size() - 1) : text;
  };
  expect_equal("a header", header, header_line(parse_header(line(header))));
  for (const Measurement& measurement : results.measurements) {
    const std::string written = measurement_line(measurement);
    expect_equal("a measurement", written, measurement_line(parse_measurement(line(written))));
  }
}

}  // namespace dlscale::fuzz
