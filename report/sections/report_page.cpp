#include "report/sections/report.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text/numbers.hpp"
#include "report/figure/figures.hpp"
#include "report/prediction/iteration_fields.hpp"
#include "report/sections/history_section.hpp"
#include "report/sections/measured_facts.hpp"
#include "report/sections/quality.hpp"
#include "report/sections/sections.hpp"
#include "report/table/run_words.hpp"

namespace dlscale::report {
namespace {

/// "1 rank", "2 ranks", of a group by ranks.
std::string group_text(const ErrorSummary& summary) {
  return counted(summary.ranks, "rank");
}

/// Summaries by number of ranks, which alone have limits.
std::vector<const ErrorSummary*> limited(const ReportInput& input) {
  std::vector<const ErrorSummary*> found;
  for (const ErrorSummary& summary : input.validation.summaries) {
    if (limit_of(summary, input.limits)) found.push_back(&summary);
  }
  return found;
}

std::string errors_sentence(const ReportInput& input) {
  std::vector<std::string> clauses;
  bool kept = true;
  for (const ErrorSummary* summary : limited(input)) {
    const double limit = *limit_of(*summary, input.limits);
    kept = kept && passes(*summary, limit);
    clauses.push_back(fmt::format("{} on {} (limit {})", percent(summary->median_abs),
                                  group_text(*summary), percent(limit)));
  }
  return fmt::format("{}{}: predicted iterations are off by {}, the median of {}.",
                     kept ? "Within the limits" : "Not within the limits",
                     is_certain(input.validation, input.limits) ? "" : ", though maybe by chance",
                     fmt::join(clauses, " and "),
                     counted(input.validation.summaries.front().repeats, "measured training"));
}

/// Caution where the interval includes the limit.
Tone tone_of(const ErrorSummary& summary, double limit) {
  const bool is_open = summary.median_abs_low <= limit && summary.median_abs_high > limit;
  if (summary.median_abs_low && is_open) return Tone::caution;
  return passes(summary, limit) ? Tone::good : Tone::bad;
}

/// "95 % interval 7.2 % to 10.3 %; "; empty without one.
std::string interval_of(const ErrorSummary& summary) {
  if (!summary.median_abs_low) return "";
  return fmt::format("95 % interval {} to {}; ", percent(*summary.median_abs_low),
                     percent(*summary.median_abs_high));
}

/// The phase to blame for the error of most runs.
Tile blame_tile(const Validation& validation) {
  std::map<std::string, int> counts;
  for (const RunValidation& run : validation.runs) ++counts[run.blame];
  const auto& [phase, runs] =
      *std::ranges::max_element(counts, {}, &std::pair<const std::string, int>::second);
  return {"Most of the error is in", std::string(phase_word(phase)),
          fmt::format("in {} of {}", runs, counted(std::ssize(validation.runs), "run")),
          Tone::plain};
}

Tile speedup_tile(const std::vector<model::Prediction>& curve) {
  const model::Prediction& last = curve.back();
  return {fmt::format("Speed-up of {} on {}", last.run.network, counted(last.run.ranks, "rank")),
          speedup_text(last.speedup, last.speedup_low, last.speedup_high),
          fmt::format("predicted; bound by {}", last.bound), Tone::plain};
}

std::vector<Tile> validation_tiles(const ReportInput& input) {
  std::vector<Tile> tiles;
  for (const ErrorSummary* summary : limited(input)) {
    if (tiles.size() == 3) break;
    const double limit = *limit_of(*summary, input.limits);
    tiles.push_back({"Error on " + group_text(*summary), percent(summary->median_abs),
                     fmt::format("{}limit {}; 9 of 10 below {}", interval_of(*summary),
                                 percent(limit), percent(summary->p90_abs)),
                     tone_of(*summary, limit)});
  }
  tiles.push_back(blame_tile(input.validation));
  for (const auto& curve : input.curves) {
    if (tiles.size() < 5 && !curve.empty()) tiles.push_back(speedup_tile(curve));
  }
  return tiles;
}

Page validation_page(const ReportInput& input) {
  Page page;
  page.kind = "validation";
  const std::string& cluster = input.machine.cluster.name;
  page.question = fmt::format("How well is training on {} predicted?",
                              cluster.empty() || cluster == "local" ? "this machine" : cluster);
  page.verdict = errors_sentence(input);
  const bool failed = exit_code(input.validation, input.limits) == ExitCode::regression;
  page.tone = failed ? Tone::bad : Tone::good;
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
