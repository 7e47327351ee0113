#include "app/measure/message_logs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "app/cli/option_values.hpp"
#include "core/base/error.hpp"
#include "core/collective/names.hpp"
#include "core/results/usable_rows.hpp"
#include "core/text/numbers.hpp"
#include "regression/history/run.hpp"
#include "regression/import/content_kind.hpp"
#include "regression/import/table_log.hpp"

namespace dlscale::app {
namespace {

namespace history = regression::history;

using Axes = std::map<std::string, std::string>;

/// The value of a key; empty without one.
std::string value_of(const Axes& axes, const std::string& key) {
  const auto found = axes.find(key);
  return found == axes.end() ? "" : found->second;
}

/// The collective of a series, under its name in bench comm; empty without one.
std::string collective_of(const Axes& axes) {
  const std::string name = value_of(axes, "collective");
  return std::string(history::collective_named(name).value_or(name));
}

double number_in(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

/// A measured time of a log under the axes of bench comm.
Measurement row_of(Axes axes, const Summary& time) {
  Measurement row;
  row.benchmark = "comm";
  axes["mode"] = "blocking";
  axes["algorithm"] = "library";
  axes["waiting"] = "spin";
  axes["cache"] = "cold";  // not stated; the usual condition, so that rows of bench comm go along
  row.axes = std::move(axes);
  Series series = make_series("s", {{time.median}});
  series.summary = time;
  row.series["time"] = std::move(series);
  return row;
}

/// The ranks of a series, and how many of them share a node.
struct Launch {
  int ranks = 0;
  int on_node = 0;
};

/// Makes rows of the series of a log.
class LogReader {
 public:
  LogReader(std::string path, LogRanks& unstated, int devices_per_node)
      : path_(std::move(path)), unstated_(&unstated), devices_per_node_(devices_per_node) {}

  MessageLog read() {
    const history::ImportedRun run = history::read_run(path_, as_log());
    log_.notes = run.notes;
    log_.rows.path = path_;
    log_.rows.header.benchmark = "comm";
    log_.rows.complete = true;
    const std::vector<const history::KeyedPoint*> points = usable(run);
    for (const history::KeyedPoint* point : points) add(*point);
    note_left_out();
    if (log_.rows.measurements.empty()) {
      throw ConfigError(
          fmt::format("{} times no collective that training runs{}. Run, for example, "
                      "all_reduce_perf of nccl-tests or osu_allreduce.",
                      path_, left_out_.empty() ? "" : " (only " + left_out_.begin()->first + ")"));
    }
    return std::move(log_);
  }

 private:
  /// A log has no commit, and needs none here.
  static history::RunOptions as_log() {
    history::RunOptions options;
    options.commit = "none";
    options.time = 0;
    return options;
  }

  /// The times of the collectives, each of one type of elements and of sums.
  std::vector<const history::KeyedPoint*> usable(const history::ImportedRun& run) {
    std::map<std::string, std::set<std::string>> types;  // by collective
    for (const history::KeyedPoint& point : run.points) {
      const std::string type = type_of(point.key.axes);
      if (!type.empty()) types[collective_of(point.key.axes)].insert(type);
    }
    std::vector<const history::KeyedPoint*> found;
    for (const history::KeyedPoint& point : run.points) {
      const Axes& axes = point.key.axes;
      if (point.key.metric != "time") continue;
      const std::string collective = collective_of(axes);
      const std::string type = type_of(axes);
      const std::string operation = value_of(axes, "redop");
      if (!collective::collective_named(collective)) {
        ++left_out_[collective.empty() ? value_of(axes, "test") : collective];
      } else if (!type.empty() && type != usual_of(types[collective])) {
        ++left_out_["type " + type];
      } else if (!operation.empty() && operation != "sum" && operation != "none") {
        ++left_out_["operation " + operation];
      } else {
        found.push_back(&point);
        if (is_in_place(axes) == is_in_place_in_training(collective))
          as_trained_.insert(place(axes));
      }
    }
    return found;
  }

  /// OSU's benchmarks for accelerators name the memory of the buffers, or take the device's.
  static bool is_on_host(const history::SeriesKey& key) {
    const std::string sent = value_of(key.axes, "send_buffer");
    const std::string received = value_of(key.axes, "receive_buffer");
    if (sent == "H" && received == "H") return true;
    return key.suite == "OSU" && value_of(key.axes, "library") == "MPI";
  }
  /// The type of elements: "float", or "MPI_FLOAT" of OSU's benchmarks.
  static std::string type_of(const Axes& axes) {
    const std::string type = value_of(axes, "type");
    return type.empty() ? value_of(axes, "datatype") : type;
  }
  /// The type that training adds, or the first.
  static std::string usual_of(const std::set<std::string>& types) {
    for (const char* usual : {"float", "MPI_FLOAT"}) {
      if (types.contains(usual)) return usual;
    }
    return *types.begin();
  }
  static bool is_in_place(const Axes& axes) { return value_of(axes, "in_place") != "no"; }
  static bool is_in_place_in_training(const std::string& collective) {
    return in_training({"in_place", "yes"}, collective) == "yes";
  }
  /// A message, whether in place or not.
  static std::string place(const Axes& axes) {
    return collective_of(axes) + " " + value_of(axes, "size");
  }

  void add(const history::KeyedPoint& point) {
    const Axes& axes = point.key.axes;
    const std::string collective = collective_of(axes);
    const bool like_training = is_in_place(axes) == is_in_place_in_training(collective);
    if (!like_training && as_trained_.contains(place(axes))) return;
    if (number_in(value_of(point.key.launch, "groups")) > 1) {
      ++left_out_["groups of ranks at once (NCCL_TESTS_SPLIT)"];
      return;
    }
    const Launch launch = launch_of(point.key);
    const bool is_osu = point.key.suite == "OSU";
    double bytes = number_in(value_of(axes, "size"));
    // OSU counts the block of one rank, nccl-tests and bench comm all blocks together.
    if (is_osu && (collective == "all_gather" || collective == "all_to_all")) bytes *= launch.ranks;
    if (bytes < 1 || bytes > 1e15) {
      ++left_out_["messages of no bytes"];
      return;
    }
    Axes row{{"collective", collective},
             {"bytes", fmt::format("{:.0f}", bytes)},
             {"ranks", std::to_string(launch.ranks)},
             {"ranks_on_node", std::to_string(launch.on_node)},
             {"library", is_osu ? value_of(axes, "library") : "NCCL"}};
    if (!is_on_host(point.key)) row[std::string(memory_axis)] = device_memory;
    log_.rows.measurements.push_back(row_of(std::move(row), point.point.summary));
  }

  Launch launch_of(const history::SeriesKey& key) {
    Launch launch;
    launch.ranks = static_cast<int>(number_in(value_of(key.launch, "ranks")));
    const int hosts = static_cast<int>(number_in(value_of(key.launch, "hosts")));
    if (launch.ranks == 0) {
      if (stated_ == 0) stated_ = unstated_->next(path_);
      launch.ranks = stated_;
    }
    launch.on_node = hosts > 0 && launch.ranks % hosts == 0
                         ? launch.ranks / hosts
                         : std::min(launch.ranks, devices_per_node_);
    return launch;
  }

  void note_left_out() {
    for (const auto& [what, count] : left_out_) {
      log_.notes.push_back(
          fmt::format("left out: {} of {}, which training does not send or nothing here models",
                      counted(count, "time"), what));
    }
  }

  std::string path_;
  LogRanks* unstated_;
  int devices_per_node_;
  int stated_ = 0;
  MessageLog log_;
  std::map<std::string, long long> left_out_;
  std::set<std::string> as_trained_;  ///< messages timed in the place that training uses
};

MessageLog read_table(const std::string& path, int devices_per_node) {
  MessageLog log;
  log.rows.path = path;
  log.rows.header.benchmark = "comm";
  log.rows.complete = true;
  for (const TimedMessage& message : read_timed_messages(path, log.notes)) {
    const double time = message.time.si();
    log.rows.measurements.push_back(
        row_of({{"collective", "all_reduce"},
                {"bytes", fmt::format("{:.0f}", message.size.si())},
                {"ranks", std::to_string(message.ranks)},
                {"ranks_on_node", std::to_string(std::min(message.ranks, devices_per_node))},
                {"library", "as timed"}},
               summarize(std::array{time})));
  }
  return log;
}

}  // namespace

bool is_message_log(const std::string& path) {
  const history::ContentKind kind = history::kind_of_file(path);
  return kind == history::ContentKind::nccl_tests || kind == history::ContentKind::osu;
}

void LogRanks::declare(CLI::App& verb) {
  verb.add_option("--log-ranks", ranks_,
                  "Ranks of logs that do not state them, as those of OSU's benchmarks")
      ->delimiter(',')
      ->type_name("N")
      ->check(positive_count());
}

int LogRanks::next(const std::string& path) {
  if (ranks_.empty()) {
    throw ConfigError(
        fmt::format("{} does not state its number of ranks, on which its times depend. Give it by "
                    "--log-ranks.",
                    path));
  }
  if (ranks_.size() > 1 && used_ == ranks_.size()) {
    throw ConfigError(
        fmt::format("--log-ranks names {} numbers, and {} is one log more that does not state its "
                    "ranks. Name one for each such log.",
                    ranks_.size(), path));
  }
  const std::size_t which = ranks_.size() == 1 ? 0 : used_;
  ++used_;
  return ranks_[which];
}

void LogRanks::expect_used() const {
  if (ranks_.empty() || used_ >= ranks_.size()) return;
  throw ConfigError(
      "--log-ranks names more numbers than there are logs that do not state their ranks (text of "
      "nccl-tests and CSV do). Leave the others out.");
}

MessageLog read_messages(const std::string& path, LogRanks& ranks, int devices_per_node) {
  return is_message_log(path) ? LogReader(path, ranks, devices_per_node).read()
                              : read_table(path, devices_per_node);
}

std::vector<TimedMessage> timed_all_reduces(const ResultFile& rows) {
  std::vector<TimedMessage> messages;
  for (const Measurement& row : rows.measurements) {
    if (row.axis("collective") != "all_reduce") continue;
    messages.push_back({static_cast<int>(number_in(row.axis("ranks"))),
                        Bytes(number_in(row.axis("bytes"))),
                        Seconds(row.at("time").summary.median)});
  }
  if (!messages.empty()) return messages;
  throw ConfigError(
      fmt::format("{} times no all-reduce, by which ranks add their gradients. Run all_reduce_perf "
                  "of nccl-tests or osu_allreduce.",
                  rows.path.string()));
}

model::Machine with_messages(model::Machine machine, const model::Machine& measured) {
  machine.collectives = measured.collectives;
  machine.algorithms = measured.algorithms;
  machine.sources.insert(machine.sources.end(), measured.sources.begin(), measured.sources.end());
  return machine;
}

}  // namespace dlscale::app
