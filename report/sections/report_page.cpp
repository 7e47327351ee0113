#include "report/sections/report.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/numbers.hpp"
#include "report/figure/figures.hpp"
#include "report/sections/history_section.hpp"
#include "report/sections/measured_facts.hpp"
#include "report/sections/quality.hpp"
#include "report/sections/sections.hpp"
#include "report/table/interval.hpp"
#include "report/table/run_words.hpp"
#include "report/validation/validation_table.hpp"

namespace dlscale::report {
namespace {

/// Summaries by number of ranks, which alone have limits.
std::vector<const ErrorSummary*> limited(const ReportInput& input) {
  std::vector<const ErrorSummary*> found;
  for (const ErrorSummary& summary : input.validation.summaries) {
    if (limit_of(summary, input.limits)) found.push_back(&summary);
  }
  return found;
}

/// Caution where noise may decide.
Tone tone_of(const ErrorSummary& summary, double limit) {
  if (is_open(summary, limit)) return Tone::caution;
  return passes(summary, limit) ? Tone::good : Tone::bad;
}

Tone tone_of(ExitCode outcome) {
  if (outcome == ExitCode::regression) return Tone::bad;
  return outcome == ExitCode::ok ? Tone::good : Tone::caution;
}

/// "95 % interval 7.2 % to 10.3 % over 8 workloads"; why there is none without one.
std::string interval_of(const ErrorSummary& summary) {
  const std::string workloads = counted(summary.workloads, "workload");
  if (!summary.median_abs_low) return workloads + ": too few for an interval";
  return fmt::format("95 % interval {} over {}",
                     from_to(percent(*summary.median_abs_low), percent(*summary.median_abs_high)),
                     workloads);
}

/// The median signed error, and the phase to blame in most configurations.
Tile bias_tile(const Validation& validation) {
  std::map<std::string, int> counts;
  for (const RunValidation& run : validation.runs) ++counts[run.blame];
  const auto& [phase, runs] =
      *std::ranges::max_element(counts, {}, &std::pair<const std::string, int>::second);
  const double bias = validation.summaries.front().bias;
  return {"Bias", signed_percent(bias),
          fmt::format("median: predicted {}; most of it in {}, in {} of {}",
                      bias < 0 ? "too fast" : "too slow", phase_word(phase), runs,
                      counted(std::ssize(validation.runs), "configuration")),
          Tone::plain};
}

/// The numbers of trainings and of configurations, which the rest of the page counts.
Tile measured_tile(const Validation& validation) {
  const bool has_builds = !validation.runs.front().build.empty();
  return {"Measured", counted(validation.summaries.front().repeats, "training"),
          fmt::format("of {}: network, batch, ranks{} schedule{}",
                      counted(std::ssize(validation.runs), "configuration"),
                      has_builds ? "," : " and", has_builds ? " and build" : ""),
          Tone::plain};
}

std::vector<Tile> validation_tiles(const ReportInput& input) {
  std::vector<Tile> tiles;
  for (const ErrorSummary* summary : limited(input)) {
    if (tiles.size() == 3) break;
    const double limit = *limit_of(*summary, input.limits);
    tiles.push_back({"Median error on " + summary->group, percent(summary->median_abs),
                     fmt::format("{}; limit {}; 9 of 10 trainings within {}", interval_of(*summary),
                                 percent(limit), percent(summary->p90_abs)),
                     tone_of(*summary, limit)});
  }
  tiles.push_back(bias_tile(input.validation));
  tiles.push_back(measured_tile(input.validation));
  return tiles;
}

Page validation_page(const ReportInput& input) {
  Page page;
  page.kind = "validation";
  const std::string& cluster = input.machine.cluster.name;
  page.question = fmt::format("How well is training on {} predicted?",
                              cluster.empty() || cluster == "local" ? "this machine" : cluster);
  page.verdict = errors_sentence(input.validation, input.limits);
  page.verdict.front() = 'O';
  page.verdict += further_outcomes(input.validation, input.limits);
  page.tone = tone_of(exit_code(input.validation, input.limits));
  if (!is_certain(input.validation, input.limits)) page.tone = Tone::caution;
  page.tiles = validation_tiles(input);
  page.picture = "phases";
  return page;
}

}  // namespace

Page report_page(const ReportInput& input) {
  Page page = input.trained ? validation_page(input) : measurement_page(input);
  if (page.kind == "noise") return page;
  if (!input.suites.empty()) page.verdict = suites_sentence(input) + ". " + page.verdict;
  page.data = quality_badge(input);
  page.data_section = "quality";
  page.sections = report_sections(input);
  page.figures = report_figures(input);
  const auto is_drawn = [&page](std::string_view name) {
    return std::ranges::find(page.figures, name, &Figure::name) != page.figures.end();
  };
  if (!is_drawn(page.picture)) {
    page.picture = is_drawn("roofline")   ? "roofline"
                   : page.figures.empty() ? ""
                                          : page.figures.front().name;
  }
  return page;
}

}  // namespace dlscale::report
