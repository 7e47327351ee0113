// dlscale validate-comm: fits message models to a part of bench comm and judges them on the rest.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/document_output.hpp"
#include "app/cli/option_values.hpp"
#include "app/cli/verb.hpp"
#include "app/measure/result_files.hpp"
#include "core/base/error.hpp"
#include "model/calibrate/measured_on.hpp"
#include "model/communication/message_judge.hpp"
#include "report/messages/message_table.hpp"

namespace dlscale::app {
namespace {

struct ValidateCommOptions {
  std::vector<std::string> results;
  int most_ranks = 0;
  report::MessageLimits limits;
  DocumentOutput output;
};

/// Throws ConfigError for measurements of several machines, by the rules of calibrate. Imported
/// curves have no captured environment and come from many machines; each is judged by itself.
void expect_one_place(const std::vector<ResultFile>& files) {
  std::vector<ResultFile> measured;
  std::ranges::copy_if(files, std::back_inserter(measured), [](const ResultFile& file) {
    return !file.header.environment.kernel.empty();
  });
  static_cast<void>(model::measured_on(measured, ""));
}

ExitCode validate_comm(const ValidateCommOptions& options) {
  const std::vector<ResultFile> files = results_of(options.results, {"comm"});
  if (files.empty()) {
    throw ConfigError(
        "There are no results of bench comm. Measure first: mpirun -n 2 dlscale bench comm -o "
        "comm-2.jsonl.");
  }
  expect_one_place(files);
  const model::MessageJudgement judgement =
      model::judge_messages(model::message_families(files), options.most_ranks);
  options.output.write(report::message_document(judgement, options.limits));
  return report::exit_code(judgement, options.limits);
}

void declare_validate_comm(CLI::App& verb, ExitCode& result) {
  auto options = std::make_shared<ValidateCommOptions>();
  verb.add_option("results", options->results,
                  "Result files or folders of bench comm, of one cluster and several numbers of "
                  "ranks")
      ->type_name("FILE")
      ->required();
  verb.add_option("--most-ranks", options->most_ranks,
                  "Fit to so many ranks at most, and predict more (default: all but the largest "
                  "number measured)")
      ->check(positive());
  const auto limit = [&](const char* name, double& value, const char* doc) {
    verb.add_option(name, value, doc)->check(positive())->capture_default_str();
  };
  limit("--limit-median", options->limits.median,
        "Largest median error of messages of a kind that passes");
  limit("--limit-p90", options->limits.p90, "The same of its 90 % quantile");
  options->output.declare(verb);
  verb.footer(
      "Half of the sizes, told by a hash, on up to --most-ranks are fitted; the others are "
      "predicted.\nExample: dlscale validate-comm comm-2.jsonl comm-3.jsonl comm-4.jsonl\nExit "
      "code "
      "1: a limit is missed. Exit code 3: none is missed, but of some messages nothing could be "
      "predicted.");
  verb.callback([options, &result] { result = validate_comm(*options); });
}

}  // namespace

extern const Verb validate_comm_verb{
    "validate-comm", "Hold models of messages against sizes and ranks that they have not seen",
    declare_validate_comm};

}  // namespace dlscale::app
