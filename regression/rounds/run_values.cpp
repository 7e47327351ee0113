#include "regression/rounds/run_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/base/units.hpp"
#include "core/results/measurement.hpp"
#include "core/results/row_keys.hpp"
#include "core/results/usable_rows.hpp"
#include "core/system/input_file.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "regression/gate/gate_outlook.hpp"
#include "regression/import/content_kind.hpp"
#include "regression/import/google/google_file.hpp"
#include "regression/import/google/google_samples.hpp"

namespace dlscale::regression {
namespace {

namespace fs = std::filesystem;

constexpr const char* google_series = "real_time";
constexpr std::array<std::string_view, 2> axes_of_runs{"repeat", extra_work_axis};

bool is_training(const std::string& benchmark) {
  return benchmark == "e2e";
}

/// The robust coefficient of variation.
double spread_of(const std::vector<double>& samples) {
  const double middle = median(samples);
  return middle > 0 ? robust_deviation(samples) / middle : 0;
}

double statistic_of(const std::vector<double>& samples, RunStatistic statistic) {
  if (statistic == RunStatistic::median) return median(samples);
  return *std::ranges::min_element(samples);
}

/// Samples of one metric of a run, over its repeats.
struct Collected {
  std::string unit;
  RunStatistic statistic = RunStatistic::minimum;
  std::vector<double> samples;
  double rounding = 0;  ///< the largest, as in RunValue
};
using Metrics = std::map<std::pair<std::string, std::string>, Collected>;

RunOutcome outcome_of(const Metrics& metrics) {
  RunOutcome outcome;
  for (const auto& [name, metric] : metrics) {
    const auto is_number = [](double sample) { return std::isfinite(sample); };
    const double value = std::ranges::all_of(metric.samples, is_number)
                             ? statistic_of(metric.samples, metric.statistic)
                             : std::numeric_limits<double>::quiet_NaN();
    if (!std::isfinite(value) || !(value > 0) || value >= max_plausible_time_s) {
      outcome.without_times.push_back(
          std::isnan(value)
              ? fmt::format("{} {}: not all of its samples are numbers", name.first, name.second)
              : fmt::format("{} {}: a time of {} {}", name.first, name.second, value, metric.unit));
      continue;
    }
    outcome.values.push_back({.key = name.first,
                              .series = name.second,
                              .unit = metric.unit,
                              .direction = Direction::smaller_is_better,
                              .statistic = metric.statistic,
                              .value = value,
                              .samples = static_cast<int>(metric.samples.size()),
                              .spread = spread_of(metric.samples),
                              .rounding = metric.rounding});
  }
  return outcome;
}

void add(const Measurement& row, const std::string& key, Metrics& metrics) {
  for (const auto& [name, series] : row.series) {
    if (series.unit != "s" || series.samples.empty() || series.samples.front().empty()) continue;
    if (role_of(row.benchmark, name) != SeriesRole::judged) continue;
    Collected& metric = metrics[{key, name}];
    metric.unit = series.unit;
    metric.statistic = is_training(row.benchmark) ? RunStatistic::median : RunStatistic::minimum;
    const std::vector<double> samples = slowest_rank(series.samples);
    metric.samples.insert(metric.samples.end(), samples.begin(), samples.end());
  }
}

/// The readings of all ranks that are valid integers.
std::vector<double> readings_of(const Measurement& row, const char* series) {
  std::vector<double> readings;
  const auto found = row.series.find(series);
  if (found == row.series.end()) return readings;
  for (const std::vector<double>& rank : found->second.samples) {
    std::ranges::copy_if(rank, std::back_inserter(readings), holds_bits);
  }
  return readings;
}

void add_reasons(const std::vector<double>& readings, GpuConditions& gpu) {
  std::uint64_t reasons = 0;
  std::size_t limited = 0;
  for (const double reading : readings) {
    const auto bits = static_cast<std::uint64_t>(reading);
    reasons |= bits & ~power_cap_reason;
    limited += (bits & power_cap_reason) != 0 ? 1 : 0;
  }
  for (const std::string& name : throttle_names(reasons)) {
    if (std::ranges::find(gpu.slowed_by, name) == gpu.slowed_by.end()) {
      gpu.slowed_by.push_back(name);
    }
  }
  const double share = static_cast<double>(limited) / static_cast<double>(readings.size());
  gpu.power_limited = std::max(gpu.power_limited, share);
}

void add_clock(double clock, GpuConditions& gpu) {
  gpu.clock_hz = gpu.clock_hz > 0 ? std::min(gpu.clock_hz, clock) : clock;
}

/// Adds the conditions that a row reports.
void add_conditions(const Measurement& row, const std::string& key, RunConditions& conditions) {
  if (row.status == Status::unstable) conditions.unsettled.push_back(key);
  const std::vector<double> reasons = readings_of(row, "throttle_reasons");
  const std::vector<double> clocks = readings_of(row, "processor_clock");
  if (reasons.empty() && clocks.empty()) return;
  GpuConditions& gpu = conditions.gpus[key];
  if (!reasons.empty()) add_reasons(reasons, gpu);
  if (!clocks.empty()) add_clock(median(clocks), gpu);
}

using Facts = std::map<std::string, std::string>;

std::string value_in(const Facts& facts, const std::string& name) {
  const auto found = facts.find(name);
  return found == facts.end() ? "" : found->second;
}

FileFacts facts_of(const ResultHeader& header) {
  const Environment& environment = header.environment;
  return {.machine = {{"host", environment.host_hash},
                      {"cpu", environment.cpu},
                      {"cores", std::to_string(environment.cores)},
                      {"affinity", environment.affinity},
                      {"kernel", environment.kernel},
                      {"governor", environment.governor},
                      {"ranks", value_in(header.run, "ranks")}},
          .build = value_in(header.run, "build")};
}

Facts program_of(const ResultHeader& header) {
  const Environment& environment = header.environment;
  Facts program{
      {"commit", environment.commit + std::string(environment.dirty ? " with local changes" : "")},
      {"compiler", environment.compiler},
      {"flags", environment.flags},
      {"build", value_in(header.run, "build")}};
  for (const auto& [name, version] : environment.libraries) program[name] = version;
  return program;
}

/// Whether a number, given as a decimal text, is smaller; also an order of other texts.
bool is_fewer(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

/// Adds the facts of one more file: a fact that differs from earlier files is removed from the
/// common ones.
void join(const Facts& machine, RunOutcome& outcome) {
  const std::string ranks =
      std::max(value_in(outcome.machine, "ranks"), value_in(machine, "ranks"), is_fewer);
  std::erase_if(outcome.machine, [&machine](const auto& fact) {
    return value_in(machine, fact.first) != fact.second;
  });
  outcome.machine["ranks"] = ranks;
}

void describe(const std::vector<ResultFile>& files, const fs::path& out, RunOutcome& outcome) {
  for (const ResultFile& file : files) {
    const FileFacts facts = facts_of(file.header);
    if (outcome.files.empty()) {
      outcome.machine = facts.machine;
    } else {
      join(facts.machine, outcome);
    }
    outcome.files[file.path.lexically_relative(out).generic_string()] = facts;
    outcome.program.merge(program_of(file.header));
  }
}

RunOutcome read_own(const fs::path& out) {
  const std::vector<ResultFile> files =
      fs::is_directory(out) ? read_result_tree(out) : std::vector{read_results(out)};
  Metrics metrics;
  std::vector<std::string> without;
  RunConditions conditions;
  for (const ResultFile& file : files) {
    for (const Measurement& row : file.measurements) {
      const std::string key = key_without(row, axes_of_runs);
      if (row.status == Status::wrong) {
        throw WrongResult(
            fmt::format("{} gave a wrong answer ({}), and of what is wrong no speed "
                        "is compared. Mend it first.",
                        key, row.reason));
      }
      if (row.status == Status::unsupported || row.series.empty()) {
        without.push_back(fmt::format("{}: {} ({})", key, status_name(row.status), row.reason));
        continue;
      }
      add(row, key, metrics);
      add_conditions(row, key, conditions);
    }
  }
  RunOutcome outcome = outcome_of(metrics);
  outcome.without_times.insert(outcome.without_times.end(), without.begin(), without.end());
  outcome.conditions = std::move(conditions);
  describe(files, out, outcome);
  return outcome;
}

RunOutcome google_outcome(const history::GoogleFile& file) {
  constexpr std::size_t wall_clock_alone = 1;
  const history::GoogleCounted counted =
      counted_samples(file, std::span(history::google_metrics).first(wall_clock_alone));
  Metrics metrics;
  for (const history::GoogleSamples& samples : counted.samples) {
    Collected& metric = metrics[{samples.name, google_series}];
    metric.unit = samples.metric->unit;
    metric.samples = samples.values;
    metric.rounding = samples.rounding;
    if (samples.values.size() == 1) metric.statistic = RunStatistic::single;
    if (samples.are_medians) metric.statistic = RunStatistic::median;
  }
  RunOutcome outcome = outcome_of(metrics);
  for (const history::GoogleOmission& omission : counted.left_out) {
    if (omission.why == history::GoogleOmission::Why::failed) {
      throw WrongResult(fmt::format("{} ended with an error ({}). Mend it first.",
                                    escape_for_terminal(omission.name),
                                    escape_for_terminal(omission.message)));
    }
    outcome.without_times.push_back(omission_text(omission));
  }
  for (const auto& [fact, field] :
       {std::pair{"host", "host_name"}, std::pair{"cores", "num_cpus"}}) {
    const auto found = file.context.find(field);
    if (found != file.context.end()) outcome.machine[fact] = found->second;
  }
  return outcome;
}

/// Why the output of a command cannot be judged. `asked`: whether the caller chose the format; else
/// the output is just not one of dlscale.
ConfigError unread(const fs::path& out, const std::string& text, bool asked,
                   std::string_view problem) {
  const bool is_google = history::kind_of_content(text) == history::ContentKind::google_benchmark;
  const std::string_view program = is_google ? "" : history::program_that_wrote(text);
  const bool is_whole = nlohmann::json::accept(text);
  if (is_google || (program.empty() && text.starts_with('{') && !is_whole)) {
    return ConfigError(fmt::format(
        "{} is JSON that {}: {}. See the log for what the command printed, let it write only its "
        "JSON "
        "to {{out}}, and measure again.",
        out.string(), is_whole ? "Google Benchmark does not write" : "breaks off or is damaged",
        problem));
  }
  if (!program.empty()) {
    return ConfigError(
        fmt::format("{} is a file of {}, and a gate reads results of dlscale and JSON of Google "
                    "Benchmark. Measure "
                    "the wall time of the command itself, without that program.",
                    out.string(), program));
  }
  return ConfigError(
      fmt::format("{} {} JSON of Google Benchmark: {}. Use --benchmark_out={{out}} "
                  "--benchmark_out_format=json, or say what the command writes.",
                  out.string(), asked ? "is not" : "is neither results of dlscale nor", problem));
}

RunOutcome read_google(const fs::path& out, bool asked) {
  const std::string text =
      read_input(out, "Let the command write {out}, as by --benchmark_out={out}.");
  try {
    return google_outcome(history::read_google_file(text));
  } catch (const ConfigError& error) {
    throw unread(out, text, asked, error.what());
  }
}

RunOutcome wall_outcome(Seconds wall) {
  RunOutcome outcome;
  outcome.values.push_back({.key = "command",
                            .series = "wall",
                            .unit = "s",
                            .direction = Direction::smaller_is_better,
                            .statistic = RunStatistic::single,
                            .value = wall.si(),
                            .samples = 1,
                            .spread = 0,
                            .rounding = 0});
  return outcome;
}

Measure found_in(const fs::path& out) {
  std::error_code error;
  if (fs::is_directory(out, error)) return Measure::results;
  return history::kind_of_file(out) == history::ContentKind::result ? Measure::results
                                                                    : Measure::google;
}

}  // namespace

RunOutcome read_run(const fs::path& out, Measure measure, Seconds wall) {
  if (measure == Measure::wall) return wall_outcome(wall);
  if (!fs::exists(out)) {
    throw ConfigError(
        fmt::format("the command wrote nothing to {}, which {{out}} stands for in it. Let it write "
                    "there, or measure the wall time.",
                    out.string()));
  }
  const Measure kind = measure == Measure::automatic ? found_in(out) : measure;
  RunOutcome outcome =
      kind == Measure::results ? read_own(out) : read_google(out, measure == Measure::google);
  if (outcome.values.empty() && outcome.without_times.empty()) {
    outcome.without_times.push_back("the output holds no benchmark");
  }
  return outcome;
}

}  // namespace dlscale::regression
