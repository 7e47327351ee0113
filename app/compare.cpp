// dlscale compare: two sets of results, row by row, with a verdict and its exit code.
#include "report/compare.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "app/document_output.hpp"
#include "app/result_files.hpp"
#include "app/verb.hpp"
#include "report/comparison_table.hpp"

namespace dlscale::app {
namespace {

struct CompareOptions {
  std::string a;
  std::string b;
  double margin = 0.02;
  DocumentOutput output;
};

ExitCode compare(const CompareOptions& options) {
  const auto report =
      report::compare(all_results({options.a}), all_results({options.b}), options.margin);
  options.output.write(report::comparison_document(report));
  return report::exit_code(report.verdict);
}

void declare_compare(CLI::App& verb, ExitCode& result) {
  auto options = std::make_shared<CompareOptions>();
  verb.add_option("a", options->a, "Result file or folder: the baseline")->required();
  verb.add_option("b", options->b, "Result file or folder to judge")->required();
  verb.add_option("--margin", options->margin, "Changes smaller than this fraction do not matter")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  options->output.declare(verb);
  verb.footer(
      "Example: dlscale compare results/old results/new\nExit code 0: unchanged or improved, 1: "
      "regressed, 3: inconclusive, 5: nothing in common.");
  verb.callback([options, &result] { result = compare(*options); });
}

}  // namespace

extern const Verb compare_verb{"compare", "Compare two sets of results", declare_compare};

}  // namespace dlscale::app
