#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/json_problem.hpp"
#include "core/text/launcher_lines.hpp"
#include "core/text/numbers.hpp"
#include "core/text/time_text.hpp"
#include "regression/import/imports.hpp"

namespace dlscale::regression::history {
namespace {

using nlohmann::json;

constexpr std::string_view mllog_mark = ":::MLLOG";
constexpr double most_time_ms = 1e14;  // year 5138

/// A training between its run_start and its run_stop.
struct Training {
  double start = 0;            ///< ms since 1970
  std::optional<double> stop;  ///< likewise; empty: the log has none
  std::string status;
  Facts axes;
  Facts machine;
  std::size_t others = 0;     ///< further starts and stops that are taken for its own
  double farthest_other = 0;  ///< ms between such a one and the one that counts

  void take_other(double time, double counting) {
    ++others;
    farthest_other = std::max(farthest_other, std::abs(time - counting));
  }
};

/// The trainings that one process logged, one after the other.
class TrainingLog {
 public:
  void read(std::string_view text) {
    expect_json_depth(text);
    const json line = json::parse(text);
    const std::string key = line.at("key");
    if (key == "run_start") start(line.at("time_ms").get<double>());
    if (key == "run_stop") {
      const bool has_status = line.contains("metadata") && line.at("metadata").is_object();
      stop(line.at("time_ms").get<double>(),
           has_status ? line.at("metadata").value("status", "") : "");
    }
    // The seed is omitted: another seed is another training of the same question.
    for (const char* name : {"submission_benchmark", "global_batch_size"}) {
      if (key == name) axes_[name] = value_text(line.at("value"));
    }
    if (key == "submission_platform") machine_["platform"] = value_text(line.at("value"));
  }

  /// Whether it has the start and the end of a training, as the log of a process does.
  [[nodiscard]] bool has_whole_training() const {
    return std::ranges::any_of(trainings_,
                               [](const Training& training) { return training.stop.has_value(); });
  }

  /// Facts logged behind the last run_stop belong to trainings that lack them.
  [[nodiscard]] std::vector<Training> trainings() const {
    std::vector<Training> all = trainings_;
    for (Training& training : all) {
      training.axes.insert(axes_.begin(), axes_.end());
      training.machine.insert(machine_.begin(), machine_.end());
    }
    return all;
  }

 private:
  static double plausible(double time_ms) {
    constexpr double least_s = 1e9;  // the year 2001; as ms, a day in January 1970
    if (time_ms >= least_s && time_ms < 10 * least_s) {
      throw ConfigError(fmt::format("a time_ms of {} is in s, not in ms", time_ms));
    }
    if (time_ms >= 0 && time_ms < most_time_ms) return time_ms;
    throw ConfigError(fmt::format("a time_ms of {} is not a time since 1970", time_ms));
  }

  /// A second run_start begins another training: the first one has no run_stop.
  void start(double time_ms) {
    Training training;
    training.start = plausible(time_ms);
    trainings_.push_back(std::move(training));
  }

  void stop(double time_ms, const std::string& status) {
    if (trainings_.empty()) return;
    Training& training = trainings_.back();
    if (training.stop) {
      // Two stops of one training: only the same status is sure.
      if (training.status == status) return training.take_other(time_ms, *training.stop);
      training.status += ", then " + status;
      return;
    }
    training.stop = plausible(time_ms);
    training.status = status;
    training.axes = axes_;
    training.machine = machine_;
  }

  std::vector<Training> trainings_;
  Facts axes_;
  Facts machine_;
};

/// Whether two processes logged the same training: by the times to 1 % of it.
bool are_one(const Training& a, const Training& b) {
  if (a.status != b.status || a.stop.has_value() != b.stop.has_value()) return false;
  if (!a.stop) return true;
  const double most = 0.01 * std::max(*a.stop - a.start, *b.stop - b.start);
  return std::abs(a.start - b.start) <= most && std::abs(*a.stop - *b.stop) <= most;
}

/// Whether a start is at most 1 % of a whole training away from the start of that.
bool are_near(const Training& start, const Training& whole) {
  return std::abs(whole.start - start.start) <= 0.01 * (*whole.stop - whole.start);
}

/// Joins repeated starts of a training that several processes logged without labels: they follow
/// each other, and so do their stops. A restart soon after a crash looks alike.
std::vector<Training> without_twins(const std::vector<Training>& all) {
  std::vector<Training> kept;
  std::optional<std::size_t> whole;  // the next one that has a stop
  for (auto training = all.rbegin(); training != all.rend(); ++training) {
    if (!training->stop && whole && are_near(*training, kept[*whole])) {
      kept[*whole].take_other(training->start, kept[*whole].start);
      continue;
    }
    if (training->stop) whole = kept.size();
    kept.push_back(*training);
  }
  std::ranges::reverse(kept);
  return kept;
}

std::vector<Training> counting_trainings(const std::map<std::string, TrainingLog>& logs,
                                         ImportedRun& run) {
  std::vector<Training> counted;
  int others = 0;
  for (const auto& [source, log] : logs) {
    std::vector<Training> trainings = without_twins(log.trainings());
    if (trainings.empty()) continue;
    if (counted.empty()) {
      counted = std::move(trainings);
      continue;
    }
    if (!std::ranges::equal(counted, trainings, are_one)) {
      throw ConfigError(
          "its processes logged trainings that differ in start, end or status, so it is not sure "
          "which counts. Keep the lines of one process");
    }
    for (std::size_t i = 0; i < counted.size(); ++i) {
      counted[i].others += trainings[i].others;
      counted[i].farthest_other = std::max(counted[i].farthest_other, trainings[i].farthest_other);
    }
    ++others;
  }
  if (others > 0) {
    run.notes.push_back(
        fmt::format("{} processes logged the same trainings, which count once", others + 1));
  }
  return counted;
}

/// Why a training has no time; empty if it has one.
std::string objection_to(const Training& training) {
  if (!training.stop) return "has no run_stop";
  if (*training.stop < training.start) {
    return fmt::format(
        "ended {:g} s before that: its run_stop is earlier than its run_start, so a clock was set "
        "or another process wrote it",
        (training.start - *training.stop) * 1e-3);
  }
  if (*training.stop == training.start) return "ended at the same time";
  if (training.status == "success") return "";
  return fmt::format("ended with status \"{}\"", escape_for_terminal(training.status));
}

std::string reason_against(const Training& training, std::string_view place = "") {
  return fmt::format("the training {}that began at {} {}", place,
                     time_text(static_cast<std::int64_t>(training.start / 1000)),
                     objection_to(training));
}

void add_training(const Training& training, ImportedRun& run) {
  SeriesKey key;
  key.suite = "MLPerf";
  key.axes = training.axes;
  key.machine = training.machine;
  key.metric = "time to train";
  key.unit = "s";
  key.direction = Direction::smaller_is_better;
  Point point;
  point.summary = summarize(std::array{(*training.stop - training.start) * 1e-3});
  run.points.push_back({std::move(key), std::move(point)});
}

void note_others(const Training& training, ImportedRun& run) {
  if (training.others == 0) return;
  run.notes.push_back(fmt::format(
      "the training that began at {} has {} of run_start or run_stop, up to {:g} s away. They are "
      "taken for those of other processes; of a restart, the time lacks what came before",
      time_text(static_cast<std::int64_t>(training.start / 1000)),
      counted(static_cast<long long>(training.others), "further line"),
      training.farthest_other * 1e-3));
}

using TrainingLogs = std::map<std::string, TrainingLog>;  ///< by the label of their process

/// A label without its last number.
std::string without_number(const std::string& label) {
  constexpr std::string_view digits = "0123456789";
  const std::size_t end = label.find_last_of(digits) + 1;  // 0 without one
  if (end == 0) return label;
  const std::size_t begin = label.find_last_not_of(digits, end - 1) + 1;
  return label.substr(0, begin) + label.substr(end);
}

/// The process of each label. Labels that differ in a number alone, of which none has a whole
/// training, are of one process: the number is that of a line, a place in its program or a time.
std::map<std::string, std::string> processes_of(const TrainingLogs& logs) {
  std::map<std::string, bool> are_whole;
  for (const auto& [label, log] : logs) {
    bool& is_whole = are_whole[without_number(label)];
    is_whole = is_whole || log.has_whole_training();
  }
  std::map<std::string, std::string> processes;
  for (const auto& [label, log] : logs) {
    const std::string common = without_number(label);
    processes[label] = are_whole.at(common) ? label : common;
  }
  return processes;
}

/// The JSON of a line; empty if it has none. Other text may follow it in the same line.
std::string_view event_in(std::string_view line) {
  const std::size_t at = line.find(mllog_mark);
  if (at == std::string_view::npos) return {};
  const std::size_t begin = line.find_first_not_of(" \t", at + mllog_mark.size());
  if (begin == std::string_view::npos || line[begin] != '{') return {};
  const std::string_view text = line.substr(begin);
  const std::size_t end = text.rfind('}');
  return end == std::string_view::npos ? text : text.substr(0, end + 1);
}

/// The time to train, its axes and its machine depend on these events alone.
constexpr std::array<std::string_view, 5> needed_keys{
    "run_start", "run_stop", "submission_benchmark", "global_batch_size", "submission_platform"};

/// Whether damaged JSON may be an event that is needed: by its key, which may be cut.
bool may_count(std::string_view text) {
  constexpr std::string_view name = "\"key\"";
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const std::size_t begin = text.find_first_not_of(" \t:\"", at + name.size());
    if (begin == std::string_view::npos) continue;
    const std::size_t end = text.find_first_of("\"}", begin);
    const std::string_view key = text.substr(begin, end - begin);
    const bool is_cut = end == std::string_view::npos;
    const bool is_needed = std::ranges::any_of(needed_keys, [&](std::string_view needed) {
      return key == needed || (is_cut && needed.starts_with(key));
    });
    if (is_needed) return true;
  }
  return false;
}

/// Damaged lines of events that nothing depends on.
struct PassedOver {
  std::size_t lines = 0;
  std::size_t first = 0;
};

void note(const PassedOver& passed, ImportedRun& run) {
  if (passed.lines == 0) return;
  run.notes.push_back(fmt::format(
      "passed over: {} lines of :::MLLOG that are not JSON of an event, of which line {} "
      "is the first",
      passed.lines, passed.first));
}

/// Reads the log of each process. `processes`: by label, or empty while labels are processes.
TrainingLogs read_logs(const ImportedRun& run, const std::map<std::string, std::string>& processes,
                       PassedOver& passed) {
  TrainingLogs logs;
  passed = {};
  LauncherLines lines(run.content);
  for (LauncherLine line; lines.next(line);) {
    const std::string_view text = event_in(line.text);
    if (text.empty()) continue;
    try {
      const auto process = processes.find(line.source);
      logs[process == processes.end() ? line.source : process->second].read(text);
    } catch (const json::exception& error) {
      if (may_count(text)) {
        const std::string problem = json_problem(error, text);
        throw ConfigError(problem.starts_with("it ends within")
                              ? fmt::format("line {} is cut off", line.number)
                              : fmt::format("line {}: {}", line.number, problem));
      }
      if (passed.lines++ == 0) passed.first = line.number;
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("line {}: {}", line.number, error.what()));
    }
  }
  return logs;
}

}  // namespace

Origin add_mllog(ImportedRun& run) {
  PassedOver passed;
  TrainingLogs logs = read_logs(run, {}, passed);
  const auto processes = processes_of(logs);
  const bool is_one_a_line = std::ranges::any_of(
      processes, [](const auto& process) { return process.first != process.second; });
  if (is_one_a_line) logs = read_logs(run, processes, passed);
  note(passed, run);
  const std::vector<Training> trainings = counting_trainings(logs, run);
  if (trainings.empty()) throw ConfigError("it has no run_start, so no time to train");
  const bool any_ended = std::ranges::any_of(trainings, [](const Training& training) {
    return training.stop && *training.stop > training.start;
  });
  if (!any_ended) {
    throw ConfigError(
        fmt::format("it has no time to train: {}", reason_against(trainings.front())));
  }
  for (std::size_t i = 0; i < trainings.size(); ++i) {
    const Training& training = trainings[i];
    note_others(training, run);
    const std::string objection = objection_to(training);
    if (objection.empty()) {
      add_training(training, run);
    } else {
      const std::string place =
          trainings.size() == 1 ? "" : fmt::format("{} of {} ", i + 1, trainings.size());
      run.notes.push_back(fmt::format("left out: {}", reason_against(training, place)));
    }
  }
  if (run.points.size() > 1) {
    run.notes.push_back(
        fmt::format("the file has {} trainings, each of which counts", run.points.size()));
  }
  return {"", time_text(static_cast<std::int64_t>(trainings.front().start / 1000))};
}

}  // namespace dlscale::regression::history
