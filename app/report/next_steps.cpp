#include "app/report/next_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/text/shell_words.hpp"
#include "regression/gate/gate_report.hpp"
#include "report/validation/validate.hpp"

namespace dlscale::app {
namespace {

using nlohmann::json;
using regression::GateReport;
using report::NextStep;

/// The same gate with so many rounds at most.
std::string gate_command(const GateReport& gate, int rounds) {
  return fmt::format("dlscale gate --base {} --new {} --rounds {}",
                     shell_word(shell_line(gate.base.command)),
                     shell_word(shell_line(gate.changed.command)), rounds);
}

std::vector<NextStep> steps_of_training(const report::ReportInput& input,
                                        const std::string& folders) {
  std::vector<NextStep> steps;
  if (exit_code(input.validation, input.limits) == ExitCode::ok) {
    steps.push_back({"Predict other networks, batches and numbers of ranks by the same machine:",
                     "dlscale predict --network resnet50 --machine machine.json --ranks 1..64:x2"});
  } else {
    steps.push_back({"Measure the parts again on a quiet machine, and fit anew:",
                     fmt::format("dlscale calibrate {} -o machine.json", folders)});
  }
  steps.push_back({"Follow the measurements from commit to commit:",
                   fmt::format("dlscale history add {} --store perf-history", folders)});
  return steps;
}

/// A parallel plan with its ranks and sequences.
struct ParallelAsked {
  const json& plan;
  long long ranks = 1;
  long long global_batch = 1;
};

/// The question about that plan alone.
std::string predict_plan(const ParallelAsked& asked) {
  const auto word = [&asked](const char* key) {
    return shell_word(asked.plan.at(key).get<std::string>());
  };
  const bool named = asked.plan.at("framework").is_string();
  return fmt::format(
      "dlscale predict --network {} --cluster {} --ranks {} --global-batch {}{} --parallel {}",
      word("network"), word("cluster"), asked.ranks, asked.global_batch,
      named ? " --framework " + word("framework") : "", word("plan"));
}

/// Whether a suite has cells to run again or still to run.
bool is_unfinished(const report::SuiteRecord& suite) {
  return std::ranges::any_of(suite.cells, [](const report::CellOutcome& cell) {
    return cell.status == "left" || !cell.is_fine;
  });
}

}  // namespace

std::vector<NextStep> steps_of_run(const report::SuggestedRun& run) {
  const std::string on = run.cluster.empty() ? std::string("--machine machine.json")
                                             : "--cluster " + shell_word(run.cluster);
  const std::string predict =
      fmt::format("dlscale predict --network {} {} --ranks {} --batch {} --schedule {}",
                  shell_word(run.network), on, run.ranks, run.batch, shell_word(run.schedule));
  std::vector<NextStep> steps{{fmt::format("See what would shorten an iteration{}:",
                                           run.bound.empty() ? "" : " bound by " + run.bound),
                               predict + " --explain"},
                              {"See what a rank keeps in memory:", predict + " --memory"}};
  if (!run.cluster.empty()) {
    steps.push_back({"Narrow the interval by a rate that was measured on one rank:",
                     fmt::format("{} --measured '1={}/s'", predict, run.samples)});
  }
  return steps;
}

std::vector<NextStep> steps_of_parallel_run(const std::string& text) {
  const json answer = json::parse(text);
  const json& plans = answer.at("plans");
  const auto slower = [](const json& a, const json& b) {
    return a.at("tokens_per_s").get<double>() < b.at("tokens_per_s").get<double>();
  };
  const json& best = *std::max_element(plans.begin(), plans.end(), slower);
  const ParallelAsked asked{best, best.at("ranks").get<long long>(),
                            best.at("global_batch").get<long long>()};
  return {{"See what would shorten an iteration:", predict_plan(asked) + " --explain"},
          {"See what a rank keeps in memory:", predict_plan(asked) + " --memory"},
          {"Search the other plans:",
           fmt::format("dlscale plan --network {} --cluster {} --ranks {} --global-batch {}",
                       shell_word(best.at("network").get<std::string>()),
                       shell_word(best.at("cluster").get<std::string>()), asked.ranks,
                       asked.global_batch)}};
}

std::vector<NextStep> steps_of_parallel_plan(const std::string& text) {
  const json answer = json::parse(text);
  json best = answer.at("best").at(0);
  for (const char* key : {"network", "cluster"}) best[key] = answer.at(key);
  const ParallelAsked asked{best, best.at("gpus").get<long long>(),
                            answer.at("global_batch").get<long long>()};
  return {{"See where the time of the best goes:", predict_plan(asked)},
          {"See what would shorten it:", predict_plan(asked) + " --explain"},
          {"See what a rank keeps in memory:", predict_plan(asked) + " --memory"}};
}

std::vector<NextStep> steps_of_memory(const std::string& text) {
  const json answer = json::parse(text);
  if (answer.contains("plans")) {
    const json& plan = answer.at("plans").at(0);
    const ParallelAsked asked{plan, plan.at("ranks").get<long long>(),
                              plan.at("global_batch").get<long long>()};
    return {{"See how fast it is:", predict_plan(asked)}};
  }
  const json& one = answer.at("trainings").at(0);
  return {{"See how fast it is:",
           fmt::format("dlscale predict --network {} --cluster {} --ranks 1 --batch {} --dtype {}",
                       shell_word(one.at("network").get<std::string>()),
                       shell_word(one.at("cluster").get<std::string>()), one.at("batch").dump(),
                       one.at("dtype").get<std::string>())}};
}

std::vector<NextStep> steps_of_comparison(const std::string& text) {
  const json answer = json::parse(text);
  std::vector<NextStep> steps;
  const auto verdict = answer.at("verdict").get<std::string>();
  if (!answer.at("place_differences").empty()) {
    steps.push_back(
        {"Compare machines in place of versions:", "dlscale compare A B --across-machines"});
  } else if (verdict == "regressed" || verdict == "inconclusive") {
    steps.push_back({"Decide by interleaved runs of both versions:",
                     "dlscale gate --base-build BUILD_A --new-build BUILD_B -- bench e2e"});
  }
  const json& trainings = answer.at("attributions");
  const auto is_open = [](const json& one) { return one.at("predicted").is_null(); };
  if (std::any_of(trainings.begin(), trainings.end(), is_open)) {
    steps.push_back({"Explain the change of iterations by measurements of their parts:",
                     "dlscale compare A B --machine A/machine.json B/machine.json"});
  }
  steps.push_back({"Keep B in a history, which also finds slow drifts:",
                   "dlscale history add B --store perf-history"});
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
                     "dlscale compare BASE NEW"});
  } else if (gate.verdict == regression::Verdict::inconclusive) {
    steps.push_back({"Run more rounds:", gate_command(gate, 2 * std::max(last, gate.rounds))});
  } else {
    steps.push_back({"Keep the results of the new version as the next baseline:",
                     "dlscale history add RESULTS --store perf-history"});
  }
  steps.push_back({"Show this on the pull request:",
                   fmt::format("dlscale report {} --format comment -o page", shell_word(file))});
  return steps;
}

std::vector<NextStep> steps_of_results(const report::ReportInput& input,
                                       const std::vector<std::string>& results) {
  const std::string folders = shell_line(results);
  std::vector<NextStep> steps;
  for (const report::SuiteRecord& suite : input.suites) {
    if (!is_unfinished(suite)) continue;
    steps.push_back(
        {"Go on with the cells that failed or are left:",
         fmt::format("dlscale run {} -o {}", shell_word(suite.suite), shell_word(suite.folder))});
  }
  std::vector<NextStep> further =
      input.trained
          ? steps_of_training(input, folders)
          : std::vector<NextStep>{{"Predict trainings from these measurements:",
                                   fmt::format("dlscale calibrate {} -o machine.json", folders)},
                                  {"Compare them with those of another version or machine:",
                                   fmt::format("dlscale compare {} OTHER", folders)}};
  std::ranges::move(further, std::back_inserter(steps));
  return steps;
}

}  // namespace dlscale::app
