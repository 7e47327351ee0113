// dlscale validate: compares predictions with measured training runs.
#include "report/validation/validate.hpp"
#include "app/cli/help_text.hpp"
#include "app/cli/option_values.hpp"
#include "app/measure/result_files.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/document_output.hpp"
#include "app/cli/verb.hpp"
#include "app/predict/predict_cases.hpp"
#include "app/report/next_steps.hpp"
#include "core/base/error.hpp"
#include "core/cluster/device_file.hpp"
#include "model/machine/machine.hpp"
#include "model/published/baselines/baselines.hpp"
#include "model/published/cases/case_file.hpp"
#include "model/published/cases/prediction.hpp"
#include "model/published/curves/sheet_curves.hpp"
#include "model/published/memory/memory_case.hpp"
#include "model/published/parallel/training.hpp"
#include "model/published/scaling/fit/fitted_file.hpp"
#include "report/score/judged_case.hpp"
#include "report/score/memory_score.hpp"
#include "report/score/score_report.hpp"
#include "report/validation/validation_table.hpp"

namespace dlscale::app {
namespace {

/// Options of `validate --cases`: scores predictions on published measurements. They come from a
/// file or from the models of this program.
class CaseOptions {
 public:
  /// Adds the options to the verb. `others` names the options that exclude --cases.
  void declare(CLI::App& verb, std::initializer_list<const char*> others);
  /// Whether --cases was given.
  [[nodiscard]] bool are_given() const { return !cases_.empty(); }
  /// Scores and prints the predictions, and judges them by the limits.
  [[nodiscard]] ExitCode validate(const DocumentOutput& output) const;

 private:
  [[nodiscard]] ExitCode validate_memory(const DocumentOutput& output) const;
  [[nodiscard]] report::ScoreLimits limits() const;
  [[nodiscard]] report::CaseChoice choice() const;
  [[nodiscard]] report::NamedPredictions predictions(const cases::CaseFile& file,
                                                     ProgressLine::Kind progress) const;

  std::string cases_;
  std::string predictions_;
  std::string model_;
  std::string nodes_;
  std::string coverage_;
  report::CaseChoice choice_;
  report::ScoreLimits limits_;
};

using report::NamedPredictions;

/// Predictions of all baselines, for trainings or for curves.
std::vector<NamedPredictions> baseline_predictions(const cases::CaseFile& file) {
  std::vector<NamedPredictions> all;
  const auto add = [&](const auto& baselines, const auto& asked) {
    for (const auto& baseline : baselines) {
      all.push_back(
          {std::string(baseline.name), std::string(baseline.doc), model::predict(baseline, asked)});
    }
  };
  if (file.holds_curves()) {
    add(model::curve_baselines(), file.curves);
  } else {
    add(model::training_baselines(), file.trainings);
    const DeviceCatalogue devices = DeviceCatalogue::load();
    for (const auto& baseline : model::cold_baselines()) {
      all.push_back({std::string(baseline.name), std::string(baseline.doc),
                     model::predict(baseline, file.trainings, devices)});
    }
  }
  return all;
}

/// Predictions of curves without their given points, as predict --collective makes them.
std::vector<NamedPredictions> sheet_predictions(const cases::CaseFile& file) {
  if (!file.holds_curves()) return {};
  std::vector<NamedPredictions> all;
  for (const char* algorithm : {"library", "nccl"}) {
    all.push_back({algorithm, fmt::format("predict --collective --algorithm {}", algorithm),
                   model::predict_by_sheets(file.curves, algorithm)});
  }
  return all;
}

/// A validator for combinations of the letters A, B and C.
CLI::Validator qualities() {
  const auto check = [](const std::string& text) -> std::string {
    if (text.find_first_not_of("ABC") == std::string::npos) return {};
    return fmt::format("{} is not a choice of qualities. Write letters of A, B and C, such as AB",
                       text);
  };
  return {check, ""};
}

/// Reads a range such as "0.85,0.95".
bool parse_range(const std::string& text, std::pair<double, double>& range) {
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos) return false;
  return CLI::detail::lexical_cast(text.substr(0, comma), range.first) &&
         CLI::detail::lexical_cast(text.substr(comma + 1), range.second) && range.first >= 0 &&
         range.first <= range.second && range.second <= 1;
}

CLI::Validator fractions() {
  const auto check = [](const std::string& text) -> std::string {
    std::pair<double, double> range;
    if (parse_range(text, range)) return {};
    return fmt::format("{} is not a range within 0 and 1; expected, for example, 0.85,0.95", text);
  };
  return {check, ""};
}

void CaseOptions::declare(CLI::App& verb, std::initializer_list<const char*> others) {
  CLI::Option* cases =
      verb.add_option("--cases", cases_,
                      "Published measurements to judge predictions by (docs/reference/cases.md)")
          ->type_name("FILE");
  CLI::Option* predictions =
      verb.add_option("--predictions", predictions_,
                      "Predictions of these cases, one per line (default: those of this program, "
                      "by fits without the set that is judged)")
          ->type_name("FILE");
  predictions->needs(cases);
  for (const char* other : others) cases->excludes(verb.get_option(other));
  const auto add = [&](const char* name, auto& value, const char* doc) {
    CLI::Option* option = verb.add_option(name, value, doc);
    option->needs(cases);
    return option;
  };
  model_ = model::scaling::usual_scaling;
  add("--model", model_,
      "Model that predicts: a name in configs/models, or a file of calibrate --cases")
      ->type_name("MODEL")
      ->capture_default_str()
      ->excludes(predictions);
  add("--by", choice_.by, "Field of the cases to group by, such as run.overlap or nodes")
      ->capture_default_str();
  add("--data-quality", choice_.quality, "Score only cases of these qualities, such as AB")
      ->type_name("LETTERS")
      ->check(qualities());
  add("--nodes", nodes_, "Score only cases of one node, or only those of several")
      ->check(CLI::IsMember({"one", "several"}));
  add("--limit-median", limits_.median, "Largest overall median error that passes, such as 0.05")
      ->check(positive());
  add("--limit-mean", limits_.mean, "Largest mean absolute error that passes")->check(positive());
  add("--limit-bias", limits_.bias, "Largest mean error, of either sign, that passes")
      ->check(positive());
  add("--limit-coverage", coverage_,
      "Shares of measured numbers in their intervals that pass, such as 0.85,0.95")
      ->type_name("LOW,HIGH")
      ->check(fractions());
}

report::ScoreLimits CaseOptions::limits() const {
  report::ScoreLimits limits = limits_;
  std::pair<double, double> range;
  if (!coverage_.empty() && parse_range(coverage_, range)) limits.coverage = range;
  return limits;
}

report::CaseChoice CaseOptions::choice() const {
  report::CaseChoice choice = choice_;
  if (nodes_ == "one") choice.nodes = report::NodeChoice::one;
  if (nodes_ == "several") choice.nodes = report::NodeChoice::several;
  return choice;
}

NamedPredictions CaseOptions::predictions(const cases::CaseFile& file,
                                          ProgressLine::Kind progress) const {
  const auto stem = [](const std::string& name) {
    return std::filesystem::path(name).stem().string();
  };
  if (!predictions_.empty()) {
    return {stem(predictions_), predictions_, cases::read_predictions(predictions_)};
  }
  if (file.holds_curves()) {
    return {"curves", "the model of curves, from the points that each of them gives",
            predictions_of(file, model_, progress)};
  }
  if (std::ranges::all_of(file.trainings, model::parallel_time::goes_beyond_data_parallelism)) {
    return {"parallel",
            "the model of parallel times; trainings of a set that it was fitted to by the fit "
            "without that set",
            predictions_of(file, model_, progress)};
  }
  return {stem(model_),
          "the model of scaling; trainings of a set that it was fitted to by the fit "
          "without that set",
          predictions_of(file, model_, progress)};
}

/// Judges memory. Other options choose among cases or models of time.
ExitCode CaseOptions::validate_memory(const DocumentOutput& output) const {
  const bool is_plain = predictions_.empty() && model_ == model::scaling::usual_scaling &&
                        nodes_.empty() && choice_.quality.empty();
  if (!is_plain) {
    throw ConfigError(fmt::format(
        "{} holds cases of memory, to which --predictions, --model, --nodes and --data-quality do "
        "not apply. Leave them out.",
        cases_));
  }
  const report::MemoryScoreReport report =
      report::memory_score_report(model::memory::read_memory_cases(cases_), choice_.by);
  output.write(report::memory_score_document(report, limits()));
  return report::exit_code(report, limits());
}

ExitCode CaseOptions::validate(const DocumentOutput& output) const {
  if (model::memory::holds_memory_cases(cases_)) return validate_memory(output);
  const cases::CaseFile file = cases::read_cases(cases_);
  const ProgressLine::Kind progress = ProgressLine::kind_for(output.is_quiet());
  const report::ScoreReport report =
      report::score_report(file, predictions(file, progress), baseline_predictions(file), choice(),
                           sheet_predictions(file));
  output.write(report::score_document(report, limits()));
  return report::exit_code(report, limits());
}

struct ValidateOptions {
  std::vector<std::string> results;
  std::string machine;
  report::Limits limits;
  CaseOptions cases;
  DocumentOutput output;
};

ExitCode validate(const ValidateOptions& options) {
  if (options.cases.are_given()) return options.cases.validate(options.output);
  if (options.results.empty() || options.machine.empty()) {
    throw CLI::RequiredError("results,--machine");
  }
  const model::Machine machine = model::load_machine(options.machine);
  const std::vector<ResultFile> files = results_of(options.results, {"e2e"});
  const report::Validation validation = report::validate(machine, files);
  const ExitCode verdict = report::exit_code(validation, options.limits);
  report::Document document = report::validation_document(validation, options.limits);
  document.next = steps_of_validation(verdict, report::is_certain(validation, options.limits),
                                      options.machine, options.results, files);
  options.output.write(document);
  return verdict;
}

/// A validator that refuses values outside the range of a rank correlation.
CLI::Validator correlation() {
  const auto check = [](const std::string& text) -> std::string {
    double value = 0;
    if (CLI::detail::lexical_cast(text, value) && value >= -1 && value <= 1) return {};
    return fmt::format("{} is not a number from -1 to 1; expected, for example, 0.9", text);
  };
  return {check, "CORRELATION"};
}

void group_validate_options(CLI::App& verb) {
  group_options(verb, {{"Measured training runs",
                        {"--machine", "--limit-one-rank", "--limit-more-ranks", "--limit-order"}},
                       {"Published cases", {"--cases", "--predictions", "--model", "--by"}},
                       {"Output", {"--format", "--output"}},
                       {"Advanced",
                        {"--data-quality", "--nodes", "--limit-median", "--limit-mean",
                         "--limit-bias", "--limit-coverage", "--color", "--quiet"}}});
}

void declare_validate(CLI::App& verb, ExitCode& result) {
  auto options = std::make_shared<ValidateOptions>();
  verb.add_option("results", options->results, "Result files or folders of bench e2e")
      ->type_name("FILE");
  verb.add_option("--machine", options->machine, "Machine file of dlscale calibrate")
      ->type_name("FILE");
  verb.add_option("--limit-one-rank", options->limits.one_rank,
                  "Largest median error of iterations on 1 rank that passes")
      ->check(positive())
      ->capture_default_str();
  verb.add_option("--limit-more-ranks", options->limits.more_ranks, "The same on 2 ranks or more")
      ->check(positive())
      ->capture_default_str();
  verb.add_option("--limit-order", options->limits.order,
                  "Least rank correlation of measured and predicted orders of schedules that "
                  "passes, from -1 to 1 (default: none)")
      ->check(correlation());
  options->cases.declare(
      verb, {"results", "--machine", "--limit-one-rank", "--limit-more-ranks", "--limit-order"});
  options->output.declare(verb);
  group_validate_options(verb);
  verb.footer(
      "Example: dlscale validate results/local/quickstart --machine machine.json\n"
      "Example: dlscale validate --cases cases.jsonl --by run.overlap\n"
      "Exit code 1: a limit is missed; the table names the phase to blame. Exit code 3: none is "
      "missed, but not everything could be judged.");
  verb.callback([options, &result] { result = validate(*options); });
}

}  // namespace

extern const Verb validate_verb{"validate", "Hold predictions against measured training runs",
                                declare_validate};

}  // namespace dlscale::app
