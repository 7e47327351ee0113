#include "app/report/next_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "app/report/asked_options.hpp"
#include "core/text/shell_words.hpp"
#include "regression/gate/gate_report.hpp"
#include "report/answers/parallel_page.hpp"
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

using Names = std::span<const std::string_view>;

// The options that further questions about the same training take.
constexpr std::array<std::string_view, 8> memory_of_plan{
    "network", "sequence", "cluster", "device", "ranks", "global-batch", "framework", "dtype"};
constexpr std::array<std::string_view, 11> time_of_plan{
    "network",       "sequence",  "cluster", "device",   "ranks",
    "global-batch",  "framework", "dtype",   "measured", "inter-node-bandwidth",
    "cores-per-rank"};
constexpr std::array<std::string_view, 9> search_of_plans{
    "network",   "sequence", "cluster",
    "device",    "ranks",    "global-batch",
    "framework", "dtype",    "inter-node-bandwidth"};
constexpr std::array<std::string_view, 13> memory_of_network{
    "network",   "sequence", "cluster",   "machine", "ranks",  "batch", "global-batch",
    "framework", "dtype",    "normalize", "fuse",    "device", "set"};
/// Options that say how a training is computed, or on what.
constexpr std::array<std::string_view, 38> time_of_network{"network",
                                                           "sequence",
                                                           "cluster",
                                                           "machine",
                                                           "ranks",
                                                           "batch",
                                                           "global-batch",
                                                           "framework",
                                                           "dtype",
                                                           "normalize",
                                                           "fuse",
                                                           "device",
                                                           "set",
                                                           "sharp",
                                                           "measured",
                                                           "inter-node-bandwidth",
                                                           "schedule",
                                                           "synchronisation",
                                                           "all-reduce",
                                                           "bucket",
                                                           "first-bucket",
                                                           "cycle",
                                                           "fusion-threshold",
                                                           "partition",
                                                           "credit",
                                                           "servers",
                                                           "sharding",
                                                           "transport",
                                                           "server-clients",
                                                           "threads",
                                                           "cores-per-rank",
                                                           "loader-threads",
                                                           "prefetch",
                                                           "input-copy",
                                                           "launch",
                                                           "straggler-spread",
                                                           "model",
                                                           "inter-node-latency"};
/// Options of which a list of values asks for several trainings.
constexpr std::array<std::string_view, 7> swept_options{"inter-node-bandwidth",
                                                        "inter-node-latency",
                                                        "servers",
                                                        "synchronisation",
                                                        "all-reduce",
                                                        "bucket",
                                                        "sharding"};

std::string predict(const AskedOptions& asked, Names names) {
  return "dlscale predict" + asked.words(names);
}

/// The options of an answer with those of one of its plans, on as many ranks as `ranks` says.
AskedOptions asked_of_plan(AskedOptions asked, const json& plan, const json& ranks,
                           const json& global_batch) {
  asked.set("ranks", fmt::format("{}", ranks.get<long long>()));
  asked.set("global-batch", fmt::format("{}", global_batch.get<long long>()));
  asked.set("parallel", plan.at("plan").get<std::string>());
  return asked;
}

std::string with_plan(const AskedOptions& asked, Names names) {
  constexpr std::array<std::string_view, 1> plan{"parallel"};
  return predict(asked, names) + asked.words(plan);
}

std::optional<AskedOptions> asked_of(const std::string& text) {
  return AskedOptions::of(nlohmann::ordered_json::parse(text));
}

/// The plan of the answer that fits best, else one that does not fit and a search of others.
std::vector<NextStep> steps_of_plan_memory(const AskedOptions& asked, const json& answer) {
  const json& plans = answer.at("plans");
  const auto does_fit = [](const json& plan) { return plan.at("fits") == "yes"; };
  const auto fitting = std::find_if(plans.begin(), plans.end(), does_fit);
  const json& plan = fitting == plans.end() ? plans.at(0) : *fitting;
  std::vector<NextStep> steps;
  if (fitting == plans.end() && answer.at("schema") != "dlscale.stages_memory") {
    steps.push_back({"Search the plans that fit:", "dlscale plan" + asked.words(search_of_plans)});
  }
  steps.push_back({"See how fast it is:",
                   with_plan(asked_of_plan(asked, plan, plan.at("ranks"), plan.at("global_batch")),
                             memory_of_plan)});
  return steps;
}

/// The largest batch that fits, else the first.
const json& largest_fitting(const json& trainings) {
  const json* largest = &trainings.at(0);
  for (const json& one : trainings) {
    const bool fits = one.at("fits") == "yes" || one.at("fits") == "likely";
    if (fits && one.at("batch") > largest->at("batch")) largest = &one;
  }
  return *largest;
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

/// Whether a suite has cells to run again or still to run.
bool is_unfinished(const report::SuiteRecord& suite) {
  return std::ranges::any_of(suite.cells, [](const report::CellOutcome& cell) {
    return cell.status == "left" || !cell.is_fine;
  });
}

}  // namespace

std::vector<NextStep> steps_of_run(const report::SuggestedRun& run, const std::string& text) {
  std::optional<AskedOptions> asked = asked_of(text);
  if (!asked || !asked->has("network") || asked->sweeps(swept_options)) return {};
  asked->set("ranks", fmt::format("{}", run.ranks));
  if (!asked->has("global-batch")) asked->set("batch", fmt::format("{}", run.batch));
  if (asked->has("schedule")) asked->set("schedule", run.schedule);
  std::vector<NextStep> steps{
      {fmt::format("See what would shorten an iteration{}:",
                   run.bound.empty() ? "" : " bound by " + run.bound),
       predict(*asked, time_of_network) + " --explain"},
      {"See what a rank keeps in memory:", predict(*asked, memory_of_network) + " --memory"}};
  if (!run.cluster.empty() && !asked->has("measured")) {
    steps.push_back(
        {fmt::format("Narrow the interval by a rate that was measured on one rank; "
                     "write it in place of {}:",
                     run.samples),
         fmt::format("{} --measured '1={}/s'", predict(*asked, time_of_network), run.samples),
         {run.samples}});
  }
  return steps;
}

std::vector<NextStep> steps_of_planned_run(const std::string& text) {
  std::optional<AskedOptions> asked = asked_of(text);
  if (!asked || asked->has("measured")) return {};
  const json answer = json::parse(text);
  const json& best = answer.at("best").at(0);
  asked->set("ranks", best.at("ranks").dump());
  asked->set("batch", best.at("batch").dump());
  asked->set("schedule", best.at("schedule").get<std::string>());
  for (const auto& [name, key] : {std::pair{"synchronisation", "synchronisation"},
                                  {"servers", "servers"},
                                  {"sharding", "sharding"},
                                  {"transport", "transport"}}) {
    const json& value = best.at(key);
    if (!value.is_null())
      asked->set(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  if (const json& bucket = best.at("bucket_bytes"); !bucket.is_null()) {
    asked->set("bucket", fmt::format("{:.0f} B", bucket.get<double>()));
  }
  std::vector<std::string_view> names(time_of_network.begin(), time_of_network.end());
  std::erase(names, "global-batch");
  std::vector<std::string_view> kept(memory_of_network.begin(), memory_of_network.end());
  std::erase(kept, "global-batch");
  return {{"See what would shorten an iteration:", predict(*asked, names) + " --explain"},
          {"See what a rank keeps in memory:", predict(*asked, kept) + " --memory"}};
}

std::vector<NextStep> steps_of_parallel_run(const std::string& text) {
  const std::optional<AskedOptions> given = asked_of(text);
  if (!given) return {};
  const json answer = json::parse(text);
  const json& plans = answer.at("plans");
  const json& best = report::best_plan(plans);
  const AskedOptions asked = asked_of_plan(*given, best, best.at("ranks"), best.at("global_batch"));
  std::vector<NextStep> steps;
  // Measured points are of the first plan, so that they say another thing beside another.
  if (!given->has("measured") || best.at("plan") == plans.at(0).at("plan")) {
    steps.push_back(
        {"See what would shorten an iteration:", with_plan(asked, time_of_plan) + " --explain"});
  }
  steps.push_back(
      {"See what a rank keeps in memory:", with_plan(asked, memory_of_plan) + " --memory"});
  steps.push_back({"Search the other plans:", "dlscale plan" + asked.words(search_of_plans)});
  return steps;
}

std::vector<NextStep> steps_of_parallel_plan(const std::string& text) {
  std::optional<AskedOptions> given = asked_of(text);
  if (!given || given->has("inter-node-latency")) return {};
  const json answer = json::parse(text);
  const json& best = answer.at("best").at(0);
  AskedOptions asked = asked_of_plan(*given, best, best.at("gpus"), answer.at("global_batch"));
  if (answer.at("frameworks").size() != 1 || !asked.has("framework")) {
    asked.set("framework", best.at("framework").get<std::string>());
  }
  const std::string predicted = with_plan(asked, time_of_plan);
  return {{"See where the time of the best goes:", predicted},
          {"See what would shorten it:", predicted + " --explain"},
          {"See what a rank keeps in memory:", with_plan(asked, memory_of_plan) + " --memory"}};
}

std::vector<NextStep> steps_of_memory(const std::string& text) {
  std::optional<AskedOptions> asked = asked_of(text);
  if (!asked) return {};
  const json answer = json::parse(text);
  if (answer.contains("plans")) return steps_of_plan_memory(*asked, answer);
  if (report::fits_no_batch(answer)) {
    return {{"Search the plans by which ranks share it:",
             "dlscale plan" + asked->words(search_of_plans)}};
  }
  if (!asked->has("ranks")) asked->set("ranks", "1");
  if (!asked->has("global-batch")) {
    asked->set("batch", largest_fitting(answer.at("trainings")).at("batch").dump());
  }
  return {{"See how fast it is:", predict(*asked, memory_of_network)}};
}

std::vector<NextStep> steps_of_stages(const std::string& text) {
  const std::optional<AskedOptions> asked = asked_of(text);
  if (!asked) return {};
  return {
      {"See what each stage does:", with_plan(*asked, time_of_plan) + " --explain"},
      {"See what each stage keeps in memory:", with_plan(*asked, memory_of_plan) + " --memory"}};
}

std::vector<NextStep> steps_of_branches(const std::string& text) {
  const std::optional<AskedOptions> asked = asked_of(text);
  if (!asked) return {};
  return {{"See the same network by data parallelism alone:", predict(*asked, memory_of_network)}};
}

std::vector<NextStep> steps_of_explanation(const std::string& text) {
  const std::optional<AskedOptions> asked = asked_of(text);
  if (!asked) return {};
  if (!asked->has("parallel")) {
    return {{"See how it scales, with intervals:", predict(*asked, time_of_network)},
            {"See what a rank keeps in memory:", predict(*asked, memory_of_network) + " --memory"}};
  }
  return {{"See where its time goes, with its interval:", with_plan(*asked, time_of_plan)},
          {"See what a rank keeps in memory:", with_plan(*asked, memory_of_plan) + " --memory"}};
}

std::vector<NextStep> steps_of_details(const std::string& text) {
  std::optional<AskedOptions> asked = asked_of(text);
  if (!asked || !asked->has("network")) return {};
  if (!asked->has("ranks")) asked->set("ranks", "1");
  const bool is_plan = asked->has("parallel");
  const std::string question =
      is_plan ? with_plan(*asked, time_of_plan) : predict(*asked, time_of_network);
  std::vector<NextStep> steps{{"See how fast it is:", question},
                              {"See what would shorten an iteration:", question + " --explain"}};
  if (!asked->has("out-of-core")) {
    steps.push_back(
        {"See what a rank keeps in memory:",
         (is_plan ? with_plan(*asked, memory_of_plan) : predict(*asked, memory_of_network)) +
             " --memory"});
  }
  return steps;
}

namespace {

/// The steps after a comparison; its sides are words of commands. Those in `placeholders` are names
/// for the reader to replace.
std::vector<NextStep> steps_of_sides(const ComparedSides& sides,
                                     const std::vector<std::string>& placeholders,
                                     const std::string& text) {
  const json answer = json::parse(text);
  std::vector<NextStep> steps;
  const auto verdict = answer.at("verdict").get<std::string>();
  if (!answer.at("place_differences").empty()) {
    steps.push_back({"Compare machines in place of versions:",
                     fmt::format("dlscale compare {} {} --across-machines", sides.a, sides.b),
                     placeholders});
  } else if (verdict == "regressed" || verdict == "inconclusive") {
    steps.push_back({"Decide by interleaved runs of both versions:",
                     "dlscale gate --base-build BUILD_A --new-build BUILD_B -- bench e2e",
                     {"BUILD_A", "BUILD_B"}});
  }
  const json& trainings = answer.at("attributions");
  const auto is_open = [](const json& one) { return one.at("predicted").is_null(); };
  if (std::any_of(trainings.begin(), trainings.end(), is_open)) {
    steps.push_back(
        {"Explain the change of iterations by measurements of their parts, in place of A and B:",
         "dlscale compare A B --machine A/machine.json B/machine.json",
         {"A", "B"}});
  }
  steps.push_back({"Keep B in a history, which also finds slow drifts:",
                   fmt::format("dlscale history add {} --store perf-history", sides.b),
                   placeholders.empty() ? placeholders : std::vector{placeholders.back()}});
  return steps;
}

}  // namespace

std::vector<NextStep> steps_of_comparison(const std::string& text) {
  return steps_of_sides({"A", "B"}, {"A", "B"}, text);
}

std::vector<NextStep> steps_of_compared(const ComparedSides& sides, const std::string& text) {
  return steps_of_sides({shell_word(sides.a), shell_word(sides.b)}, {}, text);
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
  std::vector<NextStep> further =
      input.trained
          ? steps_of_validation(exit_code(input.validation, input.limits), machine, results,
                                input.results)
          : std::vector<NextStep>{
                {"Predict trainings from these measurements:", fit_command(folders, input.results)},
                {"Compare them with those of another version or machine:",
                 fmt::format("dlscale compare {} OTHER", folders),
                 {"OTHER"}}};
  std::ranges::move(further, std::back_inserter(steps));
  return steps;
}

}  // namespace dlscale::app
