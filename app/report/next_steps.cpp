#include "app/report/next_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "core/text/shell_words.hpp"
#include "regression/gate/gate_report.hpp"
#include "report/validation/validate.hpp"

namespace dlscale::app {
namespace {

using json = nlohmann::ordered_json;
using regression::GateReport;
using report::NextStep;

/// The same gate with so many rounds at most.
std::string gate_command(const GateReport& gate, int rounds) {
  return fmt::format("dlscale gate --base {} --new {} --rounds {}",
                     shell_word(shell_line(gate.base.command)),
                     shell_word(shell_line(gate.changed.command)), rounds);
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

/// Whether a suite has cells to run again or still to run.
bool is_unfinished(const report::SuiteRecord& suite) {
  return std::ranges::any_of(suite.cells, [](const report::CellOutcome& cell) {
    return cell.status == "left" || !cell.is_fine;
  });
}

}  // namespace

std::vector<NextStep> steps_of_comparison(const std::string& text) {
  const json answer = json::parse(text);
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
  if (!answer.at("place_differences").empty()) {
    steps.push_back(
        {"Compare machines in place of versions:", command + " --across-machines", placeholders});
  } else if (verdict == "regressed" || verdict == "inconclusive") {
    steps.push_back({"Decide by interleaved runs of both versions:",
                     "dlscale gate --base-build BUILD_A --new-build BUILD_B -- bench e2e",
                     {"BUILD_A", "BUILD_B"}});
  }
  const json& trainings = answer.at("attributions");
  const auto is_open = [](const json& one) { return one.at("predicted").is_null(); };
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
  if (!is_trusted(gate)) {
    steps.push_back({"Measure again on a quiet machine:", gate_command(gate, last)});
  } else if (gate.verdict == regression::Verdict::regressed) {
    if (!gate.base.commit.empty() && !gate.changed.commit.empty()) {
      steps.push_back({"List the commits between the versions:",
                       fmt::format("git log --oneline {}..{}", shell_word(gate.base.commit),
                                   shell_word(gate.changed.commit))});
    }
    steps.push_back({"See which phase of a training became slower, after a run of each version:",
                     "dlscale compare BASE NEW",
                     {"BASE", "NEW"}});
  } else if (gate.verdict == regression::Verdict::inconclusive) {
    steps.push_back({"Run more rounds:", gate_command(gate, 2 * std::max(last, gate.rounds))});
  } else {
    steps.push_back({"Keep the results of the new version as the next baseline:",
                     "dlscale history add RESULTS --store perf-history",
                     {"RESULTS"}});
  }
  if (!file.empty()) {
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

std::vector<NextStep> steps_of_validation(ExitCode verdict, const std::string& machine,
                                          const std::vector<std::string>& results,
                                          std::span<const ResultFile> files) {
  const std::string folders = shell_line(results);
  std::vector<NextStep> steps;
  if (verdict == ExitCode::ok) {
    steps.push_back({"Predict other networks, batches and numbers of ranks by the same machine:",
                     fmt::format("dlscale predict --network resnet50 --machine {} --ranks 1..64:x2",
                                 shell_word(machine))});
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
    std::ranges::move(steps_of_validation(exit_code(input.validation, input.limits), machine,
                                          results, input.results),
                      std::back_inserter(steps));
    return steps;
  }
  if (can_be_fitted(input.results)) {
    steps.push_back(
        {"Predict trainings from these measurements:", fit_command(folders, input.results)});
  }
  steps.push_back({"Compare them with those of another version or machine:",
                   fmt::format("dlscale compare {} OTHER", folders),
                   {"OTHER"}});
  return steps;
}

}  // namespace dlscale::app
