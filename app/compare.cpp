// dlscale compare: compares two sets of results row by row, with a verdict and its exit code.
#include "report/comparison/compare.hpp"
#include "app/cli/option_values.hpp"
#include "app/measure/result_files.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "app/cli/document_output.hpp"
#include "app/cli/help_text.hpp"
#include "app/cli/verb.hpp"
#include "app/report/answer_kinds.hpp"
#include "app/report/next_steps.hpp"
#include "core/base/error.hpp"
#include "core/results/measurement.hpp"
#include "core/results/result_paths.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "model/machine/machine.hpp"
#include "report/comparison/attribution.hpp"
#include "report/comparison/comparison_table.hpp"
#include "report/comparison/google_results.hpp"
#include "report/table/table.hpp"

namespace dlscale::app {
namespace {

struct CompareOptions {
  std::string a;
  std::string b;
  double margin = 0.02;
  std::vector<std::string> machines;  ///< machine files of A and B, or none
  bool across = false;
  bool fail_on_missing = false;
  DocumentOutput output;
};

namespace fs = std::filesystem;

/// One side of the comparison.
struct Side {
  std::vector<ResultFile> results;
  report::Roundings roundings;
};

/// Results of dlscale or of Google Benchmark. A folder may also hold other JSON.
std::vector<report::PrintedResults> results_at(const std::string& path) {
  std::error_code absent;
  if (!fs::is_directory(path, absent)) return {report::compared_results(path)};
  std::vector<report::PrintedResults> all;
  for (ResultFile& file : all_results({path})) all.emplace_back().results = std::move(file);
  for (const fs::path& file : named_paths(path, std::array<std::string_view, 1>{".json"})) {
    if (auto printed = report::google_results(file)) all.push_back(std::move(*printed));
  }
  if (!all.empty()) return all;
  throw ConfigError(fmt::format(
      "the folder {} holds no results (*.jsonl, or *.json of Google Benchmark; each may "
      "end in .gz), so there is nothing to compare. Name another.",
      escape_for_terminal(path)));
}

/// The results of all files. Says what they leave out.
Side joined(std::vector<report::PrintedResults> all) {
  Side side;
  for (report::PrintedResults& printed : all) {
    for (const std::string& note : printed.notes) {
      fmt::print(stderr, "dlscale: {}: {}\n", escape_for_terminal(printed.results.path.string()),
                 note);
    }
    side.results.push_back(std::move(printed.results));
    for (const auto& [key, rounding] : printed.roundings) {
      side.roundings[key] = std::max(side.roundings[key], rounding);
    }
  }
  return side;
}

/// The shortest ends of the paths of A and B that differ: "old" and "new", "x/study" and "y/study";
/// "A" and "B" for one path.
std::pair<std::string, std::string> told_apart(const std::string& a, const std::string& b) {
  const auto parts_of = [](const std::string& path) {
    const fs::path whole = fs::path(path).lexically_normal();
    std::vector<fs::path> parts(whole.begin(), whole.end());
    std::erase_if(parts, [](const fs::path& part) { return part.empty(); });
    return parts;
  };
  const auto end_of = [](const std::vector<fs::path>& parts, std::ptrdiff_t count) {
    fs::path end;
    for (auto at = parts.end() - std::min(count, std::ssize(parts)); at != parts.end(); ++at) {
      end /= *at;
    }
    return end.string();
  };
  const std::vector<fs::path> of_a = parts_of(a);
  const std::vector<fs::path> of_b = parts_of(b);
  for (std::ptrdiff_t count = 1; count <= std::max(std::ssize(of_a), std::ssize(of_b)); ++count) {
    std::pair ends(end_of(of_a, count), end_of(of_b, count));
    if (ends.first != ends.second) return ends;
  }
  return {"A", "B"};
}

void refuse_one_folder(const CompareOptions& options) {
  std::error_code absent;
  if (!fs::is_directory(options.a, absent) || !fs::equivalent(options.a, options.b, absent)) return;
  throw ConfigError(fmt::format(
      "A and B are the same folder ({}), so nothing can differ. Name the folder of another "
      "measurement as one of them.",
      escape_for_terminal(options.a)));
}

ExitCode compare(const CompareOptions& options) {
  std::vector<report::PrintedResults> files_a = results_at(options.a);
  std::vector<report::PrintedResults> files_b = results_at(options.b);
  refuse_one_folder(options);
  report::keep_programs_apart(files_a, files_b);
  const Side a = joined(std::move(files_a));
  const Side b = joined(std::move(files_b));
  report::ComparisonReport report =
      report::compare(a.results, b.results, options.margin,
                      options.across ? report::AcrossPlaces::judged : report::AcrossPlaces::refused,
                      a.roundings, b.roundings);
  std::tie(report.a, report.b) = told_apart(options.a, options.b);
  report.path_a = options.a;
  report.path_b = options.b;
  if (!options.machines.empty()) {
    if (report.attributions.empty()) {
      throw ConfigError(
          "A and B have no training (bench e2e) with timed phases in common, so there is nothing "
          "for --machine to explain. Leave it out, or name results of such trainings.");
    }
    report::add_predictions(report.attributions, a.results,
                            model::load_machine(options.machines[0]),
                            model::load_machine(options.machines[1]));
  }
  report::Document document = report::comparison_document(report);
  document.missing_fails = options.fail_on_missing;
  document.next = steps_to_type(steps_of_comparison(document.json.summary()()));
  options.output.write(document);
  return report::exit_code(
      report, options.fail_on_missing ? report::MissingRows::fail : report::MissingRows::pass);
}

void declare_compare(CLI::App& verb, ExitCode& result) {
  auto options = std::make_shared<CompareOptions>();
  verb.add_option("a", options->a,
                  "Result file or JSON of Google Benchmark, or folder of them: the baseline")
      ->type_name("FILE")
      ->required();
  verb.add_option("b", options->b, "The results to judge by it, in the same form")
      ->type_name("FILE")
      ->required();
  verb.add_option("--margin", options->margin, "Changes smaller than this fraction do not matter")
      ->check(margin_fraction())
      ->capture_default_str();
  verb.add_option("--machine", options->machines,
                  "Machine files of dlscale calibrate, of A and of B: which measurements of parts "
                  "explain a change of an iteration, by the model")
      ->type_name("FILE")
      ->expected(2);
  verb.add_flag(
      "--across-machines", options->across,
      "Judge also what A and B measured on different machines or with different launches; "
      "without, such rows are inconclusive");
  verb.add_flag("--fail-on-missing", options->fail_on_missing,
                "Exit code 1 if B did not measure what A did");
  options->output.declare(verb);
  group_options(
      verb, {{"How to judge", {"--margin", "--machine", "--across-machines", "--fail-on-missing"}},
             {"Output", {"--format", "--output", "--color", "--quiet"}}});
  verb.footer(
      "Example: dlscale compare results/old results/new\nExit code 0: unchanged or improved, 1: "
      "regressed, 3: inconclusive, 4: an answer of B is wrong, 5: nothing in common.");
  verb.callback([options, &result] { result = compare(*options); });
}

}  // namespace

extern const Verb compare_verb{"compare", "Compare two sets of results", declare_compare};

}  // namespace dlscale::app
