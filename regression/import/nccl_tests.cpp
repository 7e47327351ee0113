#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "regression/import/imports.hpp"

namespace dlscale::regression::history {
namespace {

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream stream{std::string(line)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// A launcher may put "[1,0]<stdout>:" or "0: " before each line.
std::string_view without_launcher(std::string_view line) {
  if (line.starts_with('[')) {
    const std::size_t mark = line.find("<stdout>:");
    if (mark != std::string_view::npos) return line.substr(mark + 9);
  }
  const std::size_t digits = line.find_first_not_of("0123456789");
  if (digits != 0 && digits != std::string_view::npos && line.substr(digits, 2) == ": ") {
    return line.substr(digits + 2);
  }
  return line;
}

bool is_whole_number(const std::string& word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

double number_of(const std::string& word, const char* column) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || !std::isfinite(value)) {
    throw ConfigError(
        fmt::format("\"{}\" in column {} is not a number", escape_for_terminal(word), column));
  }
  return value;
}

/// Column indices of one side, out of place or in place.
struct SideColumns {
  const char* in_place;
  std::size_t time = 0;
  std::size_t algorithm_bandwidth = 0;
  std::size_t bus_bandwidth = 0;
  std::size_t wrong = 0;
};

struct Columns {
  /// Headings of the row's parameters: size, count, type, redop, root.
  std::vector<std::string> headings;
  std::vector<SideColumns> sides;
  std::size_t count = 0;
};

/// "size count type redop root time algbw busbw #wrong time algbw busbw #wrong". Later versions may
/// add columns; the headings locate the known ones.
Columns columns_of(const std::vector<std::string>& headings) {
  Columns columns;
  columns.count = headings.size();
  const auto first_time = std::ranges::find(headings, "time");
  columns.headings.assign(headings.begin(), first_time);
  for (auto time = first_time; time != headings.end();) {
    const auto next = std::find(time + 1, headings.end(), "time");
    const auto place = [&](const char* heading, const char* older) {
      auto found = std::find(time, next, heading);
      if (found == next) found = std::find(time, next, older);
      if (found == next) {
        throw ConfigError(fmt::format("the headings have no column {} after a time", heading));
      }
      return static_cast<std::size_t>(found - headings.begin());
    };
    columns.sides.push_back({columns.sides.empty() ? "no" : "yes", place("time", "time"),
                             place("algbw", "algbw"), place("busbw", "busbw"),
                             place("#wrong", "error")});
    time = next;
  }
  if (columns.sides.empty() || columns.sides.size() > 2) {
    throw ConfigError(
        "the headings are not those of nccl-tests: one or two columns of times are "
        "needed");
  }
  return columns;
}

class NcclReader {
 public:
  NcclReader(ImportedRun& run, const RunOptions& options) : run_(run), options_(options) {
    key_.suite = "nccl-tests";
  }

  void read(std::string_view raw) {
    const std::string_view line = without_launcher(raw);
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) return;
    if (words.front().starts_with('#')) return read_comment(line, words);
    if (columns_.sides.empty() || !is_whole_number(words.front())) return;
    read_row(words);
  }

  void finish() const {
    if (columns_.sides.empty()) throw ConfigError("it has no headings of nccl-tests");
    if (rows_ == 0) throw ConfigError("it has headings of nccl-tests and no rows");
  }

 private:
  void read_comment(std::string_view line, std::vector<std::string> words) {
    if (words.front() == "#") {
      words.erase(words.begin());
    } else {
      words.front().erase(0, 1);
    }
    if (words.empty()) return;
    if (words.front() == "Rank") return read_rank(line, words);
    if (words.front() == "size") {
      columns_ = columns_of(words);
      return expect_launch();
    }
    if (words.front() == "nThread") return read_settings(words);
    if (line.find("Collective test starting: ") != std::string_view::npos) {
      std::string name = words.back().substr(words.back().rfind('/') + 1);
      if (name.ends_with("_perf")) name.resize(name.size() - 5);
      key_.axes["collective"] = name;
    }
    if (words.front() == "nccl-tests" || words.front() == "rccl-tests") read_versions(words);
    if (line.find("Blocking Enabled") != std::string_view::npos) key_.axes["blocking"] = "yes";
  }

  /// "nccl-tests version 2.18.3 nccl-headers=23003 nccl-library=23003"
  void read_versions(const std::vector<std::string>& words) {
    if (words.size() > 2) key_.environment[words[0]] = words[2];
    for (const std::string& word : words) {
      const std::size_t equals = word.find('=');
      if (equals != std::string::npos) {
        key_.environment[word.substr(0, equals)] = word.substr(equals + 1);
      }
    }
  }

  /// "nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 agg
  /// iters: 1 validation: 1 graph: 0". The range of sizes is skipped, since each size is judged by
  /// itself.
  void read_settings(const std::vector<std::string>& words) {
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == "nThread") key_.launch["threads"] = words[i + 1];
      if (words[i] == "nGpus") key_.launch["gpus_per_thread"] = words[i + 1];
      if (words[i] == "graph:" && words[i + 1] != "0") key_.axes["graph"] = words[i + 1];
      if (words[i] == "unalign:" && words[i + 1] != "0") key_.axes["unalign"] = words[i + 1];
      if (words[i] != "iters:" || i == 0) continue;
      if (words[i - 1] == "agg" && words[i + 1] != "1") key_.axes["aggregated"] = words[i + 1];
    }
  }

  /// "Rank 0 Group 0 Pid 653 on host device 0 [0000:06:00] NVIDIA H100 80GB HBM3"
  void read_rank(std::string_view line, const std::vector<std::string>& words) {
    if (words.size() < 2 || !is_whole_number(words[1])) return;
    if (!ranks_.insert(words[1]).second) {
      throw ConfigError(fmt::format(
          "rank {} is there twice, so processes ran by themselves that should have been one "
          "collective. Build nccl-tests with MPI=1 and run it again",
          words[1]));
    }
    const auto on = std::ranges::find(words, "on");
    if (on != words.end() && on + 1 != words.end()) hosts_.insert(*(on + 1));
    const std::size_t bus = line.find(']');
    if (bus == std::string_view::npos) return;
    std::string_view device = line.substr(bus + 1);
    device.remove_prefix(std::min(device.find_first_not_of(' '), device.size()));
    device = device.substr(0, device.find_last_not_of(" \r") + 1);
    devices_.insert(std::string(device));
  }

  /// All ranks are listed before the headings.
  void expect_launch() {
    if (ranks_.empty()) return;
    key_.launch["ranks"] = std::to_string(ranks_.size());
    key_.launch["hosts"] = std::to_string(hosts_.size());
    std::string names;
    for (const std::string& device : devices_) names += (names.empty() ? "" : ", ") + device;
    key_.machine["GPU"] = names;
    std::string hosts;
    for (const std::string& host : hosts_) hosts += (hosts.empty() ? "" : ", ") + host;
    run_.facts["hosts"] = hosts;
  }

  void read_row(const std::vector<std::string>& words) {
    if (words.size() != columns_.count) {
      throw ConfigError(fmt::format("the row has {} columns where the headings have {}",
                                    words.size(), columns_.count));
    }
    if (!key_.axes.contains("collective") && !options_.axes.contains("collective")) {
      throw ConfigError(
          "it does not name the collective, as nccl-tests before 2.13 do not. Give "
          "the axis collective=all_reduce");
    }
    SeriesKey key = key_;
    for (std::size_t i = 0; i < columns_.headings.size(); ++i) {
      if (columns_.headings[i] != "count") key.axes[columns_.headings[i]] = words[i];
    }
    ++rows_;
    for (const SideColumns& side : columns_.sides) add_side(key, side, words);
  }

  void add_side(SeriesKey key, const SideColumns& side, const std::vector<std::string>& words) {
    key.axes["in_place"] = side.in_place;
    const std::string& time = words[side.time];
    if (time == "N/A") return;
    const std::string& wrong = words[side.wrong];
    // Before 2.12 the column had the largest error, which rounding alone makes greater than 0.
    const bool counts = is_whole_number(wrong);
    const std::string row =
        fmt::format("{} B {}", words.front(), *side.in_place == 'y' ? "in place" : "out of place");
    if (counts && number_of(wrong, "#wrong") > 0) {
      run_.notes.push_back(fmt::format("left out: {} is wrong in {} places", row, wrong));
      return;
    }
    if (!(number_of(time, "time") > 0)) throw impossible(row, "time", time);
    add(key, "time", "s", Direction::smaller_is_better, 1e-6 * number_of(time, "time"));
    add(key, "algbw", "B/s", Direction::larger_is_better,
        1e9 * rate_of(row, "algbw", words[side.algorithm_bandwidth]));
    add(key, "busbw", "B/s", Direction::larger_is_better,
        1e9 * rate_of(row, "busbw", words[side.bus_bandwidth]));
  }

  static ConfigError impossible(const std::string& row, const char* column,
                                const std::string& word) {
    return ConfigError(
        fmt::format("the {} of {} is {}, which nothing measured can be", column, row, word));
  }

  /// The text may round the rate of a short message to 0.00.
  static double rate_of(const std::string& row, const char* column, const std::string& word) {
    const double rate = number_of(word, column);
    if (rate < 0) throw impossible(row, column, word);
    return rate;
  }

  void add(SeriesKey key, const char* metric, const char* unit, Direction direction, double value) {
    if (!std::isfinite(value)) throw ConfigError(fmt::format("{} is beyond all numbers", metric));
    key.metric = metric;
    key.unit = unit;
    key.direction = direction;
    Point point;
    point.summary = summarize(std::array{value});
    run_.points.push_back({std::move(key), std::move(point)});
  }

  ImportedRun& run_;
  const RunOptions& options_;
  SeriesKey key_;
  Columns columns_;
  std::set<std::string> ranks_;
  std::set<std::string> hosts_;
  std::set<std::string> devices_;
  std::size_t rows_ = 0;
};

}  // namespace

Origin add_nccl_tests(ImportedRun& run, const RunOptions& options) {
  NcclReader reader(run, options);
  std::istringstream lines(run.content);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    try {
      reader.read(line);
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("line {}: {}", number, error.what()));
    }
  }
  reader.finish();
  return {};
}

}  // namespace dlscale::regression::history
