#include "app/report/next_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "app/report/measured_steps.hpp"
#include "core/text/shell_words.hpp"
#include "regression/gate/gate_outlook.hpp"
#include "regression/gate/gate_report.hpp"
#include "regression/rounds/interleaved_rounds.hpp"
#include "report/validation/validate.hpp"

namespace dlscale::app {
namespace {

using regression::GateReport;
using report::Json;
using report::NextStep;

/// The command of a version as the option takes it.
std::string version_text(const regression::GateSide& side) {
  const std::vector<std::string> shell = regression::shell_command("");
  const bool is_of_shell = side.command.size() == shell.size() &&
                           std::equal(shell.begin(), shell.end() - 1, side.command.begin());
  return shell_word(is_of_shell ? side.command.back() : shell_line(side.command));
}

/// The same gate with so many rounds at most, and an A/A test.
std::string gate_command(const GateReport& gate, int rounds) {
  constexpr double usual_margin = 0.01;
  const std::string margin = gate.margin_of_noise ? " --margin auto"
                             : gate.margin == usual_margin
                                 ? ""
                                 : fmt::format(" --margin {:g}", gate.margin);
  return fmt::format("dlscale gate --base {} --new {} --rounds {}{} --canary",
                     version_text(gate.base), version_text(gate.changed), rounds, margin);
}

/// Rounds in all that decide every metric, as far as they can be estimated; absent if no number of
/// rounds is known to decide one.
std::optional<int> deciding_rounds(const GateReport& gate) {
  std::optional<int> most;
  for (const regression::GateMetric& metric : gate.metrics) {
    const std::optional<int> more = regression::more_rounds(metric, gate);
    if (more) most = std::max(most.value_or(0), metric.rounds + *more);
  }
  return most;
}

/// Steps where the machine is too noisy for a verdict: find out why, then repeat it by `again`.
std::vector<NextStep> steps_of_noisy_gate(const std::string& again) {
  std::vector<NextStep> steps = steps_of_noise();
  steps.push_back({"Then measure again, with the base against itself (A/A test):", again});
  steps.push_back({"Or see how small a change this machine can show at all:",
                   "dlscale noise --minutes 10 -o noise"});
  return steps;
}

/// Whether both versions were trainings of dlscale, whose results hold phases.
bool is_of_trainings(const GateReport& gate) {
  return std::ranges::any_of(gate.metrics, [](const regression::GateMetric& metric) {
    return metric.key.starts_with("e2e ");
  });
}

/// Whether the gate timed whole commands, which leave no results.
bool is_of_whole_command(const GateReport& gate) {
  return std::ranges::all_of(gate.metrics, &regression::is_time_of_command);
}

/// Steps of a gate that decided nothing.
std::vector<NextStep> steps_of_open_gate(const GateReport& gate, int last) {
  constexpr int most_rounds = 1000;  // that the option takes
  constexpr int worth_waiting = 4;   // times the rounds so far
  const std::optional<int> rounds = deciding_rounds(gate);
  if (!rounds || *rounds > most_rounds || *rounds > worth_waiting * last) {
    return steps_of_noisy_gate(gate_command(gate, std::min(most_rounds, worth_waiting * last)));
  }
  return {{fmt::format("Run about {} rounds, with the base against itself (A/A test):", *rounds),
           gate_command(gate, *rounds)}};
}

/// Fits a machine to the folders of these files; of several compute backends, which one machine
/// cannot mix, to that of the most benchmarks, then of the most rows.
std::string fit_command(const std::string& folders, std::span<const ResultFile> files) {
  struct Extent {
    std::set<std::string> benchmarks;
    std::size_t rows = 0;
  };
  std::map<std::string, Extent> backends;
  for (const ResultFile& file : files) {
    for (const Measurement& row : file.measurements) {
      const auto backend = row.axes.find("backend");
      if (backend == row.axes.end()) continue;
      Extent& extent = backends[backend->second];
      extent.benchmarks.insert(row.benchmark);
      ++extent.rows;
    }
  }
  std::string choice;
  if (backends.size() > 1) {
    const auto size_of = [](const auto& one) {
      return std::pair(one.second.benchmarks.size(), one.second.rows);
    };
    choice = " --backend " + shell_word(std::ranges::max_element(backends, {}, size_of)->first);
  }
  return fmt::format("dlscale calibrate {}{} -o machine.json", folders, choice);
}

/// Whether a machine can be fitted to any of these files.
bool can_be_fitted(std::span<const ResultFile> files) {
  constexpr std::array<std::string_view, 5> fitted{"conv", "update", "memory", "io", "comm"};
  return std::ranges::any_of(files, [&](const ResultFile& file) {
    return std::ranges::find(fitted, file.header.benchmark) != fitted.end();
  });
}

/// Steps for what is unstable in these files; the command is of the file with most of it.
std::vector<NextStep> steps_of_unstable_files(std::span<const ResultFile> files) {
  long long all = 0;
  long long unstable = 0;
  long long most = 0;
  const ResultHeader* worst = nullptr;
  for (const ResultFile& file : files) {
    const auto measured = std::ranges::count_if(
        file.measurements, [](const Measurement& row) { return !row.series.empty(); });
    const long long wide =
        std::ranges::count(file.measurements, Status::unstable, &Measurement::status);
    all += measured;
    unstable += wide;
    if (wide > most) {
      most = wide;
      worst = &file.header;
    }
  }
  if (worst == nullptr) return {};
  return steps_of_unstable(unstable, all, worst->command, worst->run);
}

/// Whether a suite has cells to run again or still to run.
bool is_unfinished(const report::SuiteRecord& suite) {
  return std::ranges::any_of(suite.cells, [](const report::CellOutcome& cell) {
    return cell.status == "left" || !cell.is_fine;
  });
}

/// The benchmark of the first row with this verdict; that of trainings if no row names one.
std::string benchmark_of(const Json& answer, const std::string& verdict) {
  for (const Json& row : answer.at("rows")) {
    const auto key = row.at("key").get<std::string>();
    if (row.at("verdict") == verdict && key.find(' ') != std::string::npos) {
      return key.substr(0, key.find(' '));
    }
  }
  return "e2e";
}

}  // namespace

std::vector<NextStep> steps_of_comparison(const Json& answer) {
  std::vector<std::string> sides{"A", "B"};
  std::vector<std::string> placeholders = sides;
  // Answers of earlier versions do not state what was compared.
  const auto paths = answer.value("paths", std::vector<std::string>());
  if (paths.size() == sides.size() && !paths.front().empty()) {
    sides = {shell_word(paths.front()), shell_word(paths.back())};
    placeholders.clear();
  }
  const std::string command = fmt::format("dlscale compare {} {}", sides.front(), sides.back());
  std::vector<NextStep> steps;
  const auto verdict = answer.at("verdict").get<std::string>();
  const Json common = answer.value("common_change", Json());
  const bool is_common = !common.is_null() && common.at("explains").get<bool>();
  if (!answer.at("place_differences").empty()) {
    steps.push_back(
        {"Compare machines in place of versions:", command + " --across-machines", placeholders});
  } else if (is_common || verdict == "regressed" || verdict == "inconclusive") {
    steps.push_back({is_common ? "Tell a slower machine from a slower version by interleaved runs "
                                 "of both build folders:"
                               : "Decide by interleaved runs of both build folders:",
                     "dlscale gate --base-build BUILD_A --new-build BUILD_B -- bench " +
                         benchmark_of(answer, verdict),
                     {"BUILD_A", "BUILD_B"}});
  }
  const Json& trainings = answer.at("attributions");
  const auto is_open = [](const Json& one) { return one.at("predicted").is_null(); };
  if (std::any_of(trainings.begin(), trainings.end(), is_open)) {
    std::vector<std::string> names = placeholders;
    names.insert(names.end(), {"MACHINE_A", "MACHINE_B"});
    steps.push_back({"Explain the change of iterations by the machine files of both sides:",
                     command + " --machine MACHINE_A MACHINE_B", names});
  }
  steps.push_back({"Keep B in a history, which also finds slow drifts:",
                   fmt::format("dlscale history add {} --store perf-history", sides.back()),
                   placeholders.empty() ? placeholders : std::vector{placeholders.back()}});
  return steps;
}

std::vector<NextStep> steps_of_gate(const GateReport& gate, const std::string& file) {
  std::vector<NextStep> steps;
  const int last = gate.looks.empty() ? gate.rounds : gate.looks.back().rounds;
  if (gate.invalid) {
    steps.push_back({"Measure again, with all runs of a version alike:", gate_command(gate, last)});
  } else if (!is_trusted(gate)) {
    steps = steps_of_noisy_gate(gate_command(gate, last));
  } else if (gate.verdict == regression::Verdict::regressed) {
    if (gate.canary == regression::GateCanary::not_run) {
      steps.push_back(
          {"Make sure of it by the base against itself (A/A test):", gate_command(gate, last)});
    }
    if (!gate.base.commit.empty() && !gate.changed.commit.empty()) {
      steps.push_back({"List the commits between the versions:",
                       fmt::format("git log --oneline {}..{}", shell_word(gate.base.commit),
                                   shell_word(gate.changed.commit))});
    }
    if (is_of_trainings(gate)) {
      steps.push_back({"See which phase of a training became slower, after a run of each version:",
                       "dlscale compare BASE NEW",
                       {"BASE", "NEW"}});
    }
  } else if (gate.verdict == regression::Verdict::inconclusive) {
    steps = steps_of_open_gate(gate, std::max(last, gate.rounds));
  } else if (!is_of_whole_command(gate)) {
    steps.push_back({"Keep the results of the new version as the next baseline:",
                     "dlscale history add RESULTS --store perf-history",
                     {"RESULTS"}});
  }
  const bool is_known = is_trusted(gate) && gate.verdict != regression::Verdict::inconclusive;
  if (!file.empty() && is_known) {
    steps.push_back({"Show this on the pull request:",
                     fmt::format("dlscale report {} --format comment -o page", shell_word(file))});
  }
  return steps;
}

std::vector<NextStep> steps_of_side_by_side(const std::vector<std::string>& sources) {
  const std::string report = fmt::format("dlscale report {} --side-by-side", shell_line(sources));
  return {{"Keep every time for a spreadsheet, the fastest of each training first:",
           report + " --format csv -o page > side_by_side.csv"},
          {"Draw it as a slide:", report + " -o page --picture summary.png"},
          {"See what one of them holds alone:",
           fmt::format("dlscale report {} -o page", shell_word(sources.front()))}};
}

std::vector<NextStep> steps_of_validation(ExitCode verdict, bool is_certain,
                                          const std::string& machine,
                                          const std::vector<std::string>& results,
                                          std::span<const ResultFile> files) {
  const std::string folders = shell_line(results);
  std::vector<NextStep> steps;
  const NextStep again{is_certain ? "Measure what could not be judged:"
                                  : "Then add trainings, of other networks too:",
                       "dlscale bench e2e --network NETWORK --ranks RANKS -o again.jsonl",
                       {"NETWORK", "RANKS"}};
  if (!is_certain) {
    return {{"More or steadier trainings would decide it. See what makes this machine noisy:",
             "dlscale doctor"},
            again};
  }
  if (verdict == ExitCode::ok) {
    steps.push_back({"Predict other networks, batches and numbers of ranks by the same machine:",
                     fmt::format("dlscale predict --network resnet50 --machine {} --ranks 1..64:x2",
                                 shell_word(machine))});
  } else if (verdict == ExitCode::inconclusive) {
    steps.push_back(again);
  } else {
    steps.push_back({"Fit a machine anew to these results:", fit_command(folders, files)});
  }
  steps.push_back({"Follow the measurements from commit to commit:",
                   fmt::format("dlscale history add {} --store perf-history", folders)});
  return steps;
}

std::vector<NextStep> steps_of_results(const report::ReportInput& input, const std::string& machine,
                                       const std::vector<std::string>& results) {
  const std::string folders = shell_line(results);
  std::vector<NextStep> steps;
  for (const report::SuiteRecord& suite : input.suites) {
    if (!is_unfinished(suite)) continue;
    steps.push_back(
        {"Go on with the cells that failed or are left:",
         fmt::format("dlscale run {} -o {}", shell_word(suite.suite), shell_word(suite.folder))});
  }
  if (input.trained) {
    std::ranges::move(steps_of_validation(exit_code(input.validation, input.limits),
                                          is_certain(input.validation, input.limits), machine,
                                          results, input.results),
                      std::back_inserter(steps));
    return steps;
  }
  // Noise comes first, since all else builds on these times.
  const std::vector<NextStep> noisy = steps_of_unstable_files(input.results);
  if (!noisy.empty()) steps.push_back(noisy.front());
  if (input.kernels) std::ranges::move(steps_of_convolutions(results), std::back_inserter(steps));
  if (can_be_fitted(input.results)) {
    steps.push_back(
        {"Predict trainings from these measurements:", fit_command(folders, input.results)});
  }
  if (noisy.size() > 1) steps.push_back(noisy[1]);
  steps.push_back({"Compare them with those of another version or machine:",
                   fmt::format("dlscale compare {} OTHER", folders),
                   {"OTHER"}});
  constexpr std::size_t most = 3;
  if (steps.size() > most) steps.resize(most);
  return steps;
}

}  // namespace dlscale::app
