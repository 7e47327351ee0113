#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/text/numbers.hpp"
#include "report/history/history_table.hpp"
#include "report/history/history_verdicts.hpp"
#include "report/sections/history_section.hpp"

namespace dlscale::report {
namespace {

namespace history = regression::history;
using history::AlertMetric;
using history::SeriesState;

long long states(const HistoryView& view, SeriesState state) {
  return std::ranges::count(view.report.series, state, &history::SeriesCheck::state);
}

/// "95 % interval +18.9 % to +21.2 %", or that there is none.
std::string tile_interval(const AlertMetric& metric) {
  if (metric.by == history::FoundBy::drift) return "a drift in all, without an interval";
  const std::string interval = interval_text(metric);
  return interval.empty() ? "no interval is known" : "95 % interval " + interval;
}

bool is_worse_at_the_end(const history::Strip& strip) {
  return strip.latest_worse > 0;
}

/// "Yes: series 1 (BM_Gemm/256: cpu_time) regressed by +7.2 % (95 % interval +6.8 % to +7.3 %) at
/// commit 1616, the largest change of 2 series."; the answer of the check if nothing fails.
std::string verdict_of(const HistoryView& view) {
  const FailingChange worst = largest_failing(view.report);
  if (worst.metric == nullptr) {
    const auto worse = std::ranges::count_if(view.strips, is_worse_at_the_end);
    return history_answer(view.report, worse == 0) + "." +
           (worse == 0 ? ""
                       : fmt::format(" The last commits of {} are worse, but not yet a change.",
                                     fmt::format("{} series", worse)));
  }
  const std::string drawn = name_in_strips(view, worst.metric->series);
  const std::size_t series = new_changes(view.report).series;
  return fmt::format("Yes: {} {} by {} ({}) at commit {}{}.",
                     drawn.empty() ? shown_name(worst.metric->key.name()) : drawn,
                     verdict_name(worst.metric->movement), change_text(*worst.metric),
                     tile_interval(*worst.metric), short_commit(worst.alert->commit),
                     series > 1 ? fmt::format(", the largest change of {} series", series) : "");
}

/// New regressions: of how many series, and what improved.
Tile regressions_tile(const HistoryView& view) {
  const NewChanges changes = new_changes(view.report);
  const std::string better =
      changes.improvements == 0
          ? ""
          : fmt::format("; {}", counted(changes.improvements, "improvement"));
  return {"New regressions", std::to_string(changes.regressions),
          fmt::format("{} of {} series{}", changes.series, view.report.series.size(), better),
          changes.regressions > 0 ? Tone::bad
          : nothing_judged(view.report).empty() &&
                  std::ranges::none_of(view.strips, is_worse_at_the_end)
              ? Tone::good
              : Tone::plain};
}

/// The largest regression and its commit.
std::vector<Tile> change_tiles(const FailingChange& worst) {
  return {{"Largest regression", change_text(*worst.metric),
           tile_interval(*worst.metric), Tone::bad},
          {"Since commit", short_commit(worst.alert->commit),
           fmt::format("{}, after {}", day_of(*worst.alert), short_commit(worst.alert->before)),
           Tone::plain}};
}

Tile smallest_tile(const SmallestChange& smallest) {
  const std::string median = percent(smallest.median);
  const std::string most = percent(smallest.most);
  return {"Smallest change it shows", median,
          median == most ? "of a single commit, in 8 of 10 cases"
                         : fmt::format("of a single commit, in 8 of 10 cases; {} in the noisiest "
                                       "series",
                                       most),
          Tone::plain};
}

std::vector<Tile> tiles_of(const HistoryView& view) {
  const history::CheckReport& report = view.report;
  std::vector<Tile> tiles;
  const FailingChange worst = largest_failing(report);
  if (worst.metric != nullptr) tiles = change_tiles(worst);
  tiles.push_back(regressions_tile(view));
  if (const long long open = states(view, SeriesState::needs_reruns); open > 0) {
    tiles.push_back({"Need fresh runs", std::to_string(open),
                     fmt::format("of {} series", report.series.size()), Tone::caution});
  }
  const long long young = states(view, SeriesState::new_baseline);
  tiles.push_back({"Series", std::to_string(report.series.size()),
                   commits_text(report) +
                       (young > 0 ? fmt::format(", {} too new to judge", young) : ""),
                   Tone::plain});
  const auto smallest = smallest_change(report);
  if (smallest && worst.metric == nullptr) tiles.push_back(smallest_tile(*smallest));
  return tiles;
}

/// The largest change that may hide in good data: most look for regressions of single digits.
constexpr double most_hidden = 0.1;

/// Doubts about the points: lost, incomplete, young and noisy ones.
Badge data_of(const HistoryView& view) {
  const history::CheckReport& report = view.report;
  const std::string points =
      fmt::format("{} of {} series", counted(static_cast<long long>(report.points), "point"),
                  report.series.size());
  if (report.lost + report.incomplete > 0) {
    return usable_data(
        fmt::format("{}; {} lost or incomplete.", points, report.lost + report.incomplete));
  }
  const long long young = states(view, SeriesState::new_baseline);
  if (2 * young > std::ssize(report.series)) {
    return usable_data(fmt::format("{}; {} of the series are too new to judge.", points, young));
  }
  const auto seen = smallest_change(report);
  if (seen && seen->most > most_hidden) {
    return usable_data(
        fmt::format("{}; noise hides single commits that change by less than {}; lasting changes "
                    "show sooner.",
                    points, percent(seen->most)));
  }
  return good_data(
      seen ? fmt::format("{}; a single commit shows changes of {} or more.", points,
                         percent(seen->most))
           : points + ".");
}

}  // namespace

Page history_page(const HistoryView& view) {
  Page page;
  page.kind = "history";
  page.question = "Has anything become slower?";
  const ExitCode code = exit_code(view.report);
  page.verdict = verdict_of(view);
  const bool is_judged = nothing_judged(view.report).empty();
  page.tone = code == ExitCode::regression        ? Tone::bad
              : code == ExitCode::ok && is_judged ? Tone::good
                                                  : Tone::caution;
  page.tiles = tiles_of(view);
  page.picture = "history";
  page.next = steps_of_check(view.report, view.commands);
  page.data = data_of(view);
  const bool is_noisy = page.data->word != "Good" && is_judged;
  if (is_noisy && code == ExitCode::ok) {
    page.next.insert(page.next.begin(),
                     {"See what makes this machine noisy, before changes are explained:",
                      view.commands.doctor});
    if (page.next.size() > 3) page.next.resize(3);
  }
  page.sections = {
      history_section(view),
      {"reproduce",
       "How it was made",
       {Items{{view.commands.check, fmt::format("{} points of {} series", view.report.points,
                                                view.report.series.size())}}}}};
  if (auto figure = history_figure(view)) page.figures.push_back(std::move(*figure));
  return page;
}

}  // namespace dlscale::report
