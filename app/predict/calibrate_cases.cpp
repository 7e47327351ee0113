#include "app/predict/calibrate_cases.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/option_values.hpp"
#include "core/system/build_info.hpp"
#include "core/system/output.hpp"
#include "core/system/output_file.hpp"
#include "core/text/numbers.hpp"
#include "model/published/cases/case_file.hpp"
#include "model/published/scaling/fit/fitted_file.hpp"
#include "model/published/scaling/fit/leave_out.hpp"
#include "report/format/format.hpp"
#include "report/table/table.hpp"

namespace dlscale::app {
namespace {

namespace scaling = model::scaling;

cases::CaseFile read_trainings(const std::string& path) {
  cases::CaseFile file = cases::read_cases(path);
  if (!file.holds_curves()) return file;
  throw ConfigError(
      fmt::format("{} holds curves of collectives, to which no model here is fitted. Name a file "
                  "of trainings.",
                  path));
}

/// Shows progress if standard error is a terminal.
void show_progress(std::size_t done, std::size_t all) {
  if (isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "\rfits: {} of {}{}", done, all, done == all ? "\n" : "");
}

/// Minimum and maximum of a parameter over the fits that each leave out one set.
std::pair<double, double> range_of(const scaling::FittedScaling& fitted, std::size_t parameter) {
  const auto value = [&](const auto& each) { return each.second.parameters.values[parameter]; };
  const auto [least, most] = std::ranges::minmax_element(fitted.without, {}, value);
  return {value(*least), value(*most)};
}

report::Table parameter_table(const scaling::FittedScaling& fitted) {
  constexpr int digits = 4;
  report::Table table;
  table.title = "Parameters of the model of scaling";
  table.columns = {{"parameter", report::Align::left},
                   {"unit", report::Align::left},
                   {"prior"},
                   {"spread of its logarithm"},
                   {"fitted"},
                   {"least without a set"},
                   {"most"},
                   {"what it is", report::Align::left}};
  for (std::size_t i = 0; i < scaling::parameter_count; ++i) {
    const scaling::ParameterKind& kind = scaling::parameter_kinds()[i];
    const auto [least, most] = range_of(fitted, i);
    table.rows.push_back({{std::string(kind.name)},
                          {std::string(kind.unit)},
                          {fmt::format("{:.{}g}", kind.median, digits)},
                          {fmt::format("{:.2g}", kind.spread)},
                          {fmt::format("{:.{}g}", fitted.all.parameters.values[i], digits)},
                          {fmt::format("{:.{}g}", least, digits)},
                          {fmt::format("{:.{}g}", most, digits)},
                          {std::string(kind.doc)}});
  }
  const scaling::ErrorModel& errors = fitted.all.errors;
  table.notes = {
      "least, most: of the fits that have not seen one set each",
      fmt::format("times are taken to be exp({:.4f} d (1 - o)) as long, o the share of overheads, "
                  "d how far from the given point, 1 from a doubling on",
                  errors.shift),
      fmt::format("the logarithm of measured over predicted lies within {:.2f} s to {:+.2f} s for "
                  "90 %, s = {:.4f} + {:.4f} o + {:.4f} [batch < 0.3 of the given] + {:.4f} "
                  "[several nodes] + {:.4f} in doubt + {:.4f} hidden where d = 1",
                  errors.low, errors.high, errors.base, errors.of_overhead, errors.of_small_batch,
                  errors.of_nodes, errors.of_doubt, errors.of_hidden),
      "in doubt, hidden: of the time, what hangs on an overlap that is not told, and communication "
      "beside computing"};
  return table;
}

/// Number of fits that include each term.
report::Table terms_table(const scaling::FittedScaling& fitted) {
  report::Table table;
  table.title = "Terms chosen";
  table.columns = {{"term of", report::Align::left},
                   {"by all sets"},
                   {"without one set"},
                   {"sets without which it is not", report::Align::left}};
  for (std::size_t i = 0; i < scaling::parameter_count; ++i) {
    const scaling::ParameterKind& kind = scaling::parameter_kinds()[i];
    const auto is_in = [&](const scaling::Fit& fit) {
      return fit.parameters.values[i] != kind.absent;
    };
    std::size_t count = 0;
    std::vector<std::string> lacking;
    for (const auto& [set, fit] : fitted.without) {
      if (is_in(fit)) {
        ++count;
      } else {
        lacking.push_back(set);
      }
    }
    table.rows.push_back(
        {{std::string(kind.name)},
         {is_in(fitted.all) ? "yes" : "no"},
         {fmt::format("{} of {}", count, fitted.without.size())},
         {count == 0 || lacking.empty() ? "" : fmt::format("{}", fmt::join(lacking, ", "))}});
  }
  return table;
}

void print_table(std::FILE* to, report::Table table) {
  report::Document document;
  document.tables.push_back(std::move(table));
  const auto terminal = report::format::detect_terminal(fileno(to));
  fmt::print(to, "{}", report::format::find_format("table").write(document, terminal));
}

/// The commit of the build that fitted the model.
std::string build_text() {
  const BuildInfo build = build_info();
  return build.dirty ? build.commit + " with changes" : build.commit;
}

void print_fitted_counts(std::FILE* to, const scaling::ScalingFit& made, const std::string& where) {
  std::size_t fitted = 0;
  for (const auto& [set, trainings] : made.sets) fitted += trainings;
  fmt::print(to, "{}: fitted to {} of {}\n", where,
             counted(static_cast<long long>(fitted), "training"),
             counted(static_cast<long long>(made.sets.size()), "set"));
  if (made.not_measured + made.not_covered == 0) return;
  fmt::print(to, "passed over: {} without a measured value, {} not covered by the model\n",
             made.not_measured, made.not_covered);
}

}  // namespace

void CalibrateCases::declare(CLI::App& verb) {
  CLI::Option* cases =
      verb.add_option("--cases", cases_,
                      "Fit the model of scaling to the published trainings of a file instead "
                      "(docs/reference/cases.md)")
          ->type_name("FILE");
  verb.add_flag("--choose-terms", choose_terms_,
                "Choose the terms of the model anew for each fit of --cases")
      ->needs(cases);
  exclude_others(verb, *cases, {"--output", "--choose-terms"});
}

ExitCode CalibrateCases::calibrate(const std::string& output) const {
  const bool to_standard_output = output == "-";
  if (!to_standard_output) {
    refuse_foreign_file(output, "a model of scaling", scaling::opens_as_scaling);
  }
  const cases::CaseFile file = read_trainings(cases_);
  scaling::FitOptions options;
  options.choose_terms = choose_terms_;
  if (!choose_terms_) options.progress = show_progress;
  const scaling::ScalingFit made =
      scaling::fit_scaling(file.trainings, file.outcomes, scaling::FactSources::load(), options);
  std::FILE* const told = to_standard_output ? stderr : stdout;
  write_output(
      output, scaling::scaling_text({made.fitted, std::filesystem::path(cases_).filename().string(),
                                     build_text(), made.sets}));
  print_fitted_counts(told, made, to_standard_output ? "model" : output);
  if (choose_terms_) print_table(told, terms_table(made.fitted));
  print_table(told, parameter_table(made.fitted));
  return ExitCode::ok;
}

}  // namespace dlscale::app
