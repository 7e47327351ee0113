// dlscale validate: compares predictions with measured training runs.
#include "report/validation/validate.hpp"
#include "app/cli/help_text.hpp"
#include "app/cli/option_values.hpp"
#include "app/measure/result_files.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/document_output.hpp"
#include "app/cli/verb.hpp"
#include "app/predict/validate_cases.hpp"
#include "model/machine/machine.hpp"
#include "report/validation/validation_table.hpp"

namespace dlscale::app {
namespace {

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
  options.output.write(report::validation_document(validation, options.limits));
  return report::exit_code(validation, options.limits);
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
                         "--limit-bias", "--limit-coverage", "--color"}}});
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
