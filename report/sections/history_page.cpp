#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/numbers.hpp"
#include "core/text/time_text.hpp"
#include "report/history/history_table.hpp"
#include "report/history/history_verdicts.hpp"
#include "report/sections/history_section.hpp"

namespace dlscale::report {
namespace {

namespace history = regression::history;
using history::Alert;
using history::AlertMetric;
using history::SeriesState;

long long states(const HistoryView& view, SeriesState state) {
  return std::ranges::count(view.report.series, state, &history::SeriesCheck::state);
}

/// "2026-01-16".
std::string day_of(const Alert& alert) {
  return time_text(alert.time).substr(0, std::string_view("2026-01-16").size());
}

std::string verdict_of(const HistoryView& view) {
  const ExitCode code = exit_code(view.report);
  const std::string series = fmt::format("{} series", view.report.series.size());
  if (code == ExitCode::regression) {
    const FailingChange worst = largest_failing(view.report);
    const auto failing = std::ranges::count_if(view.report.alerts, &Alert::fails);
    const std::string interval = interval_text(*worst.metric);
    return fmt::format("Yes: {} {} for attention; {} changed by {}{} at commit {} of {}.",
                       counted(failing, "alert"), failing == 1 ? "asks" : "ask",
                       worst.metric->key.name(), signed_percent(worst.metric->ratio - 1),
                       interval.empty() ? "" : fmt::format(" (95 % interval {})", interval),
                       short_commit(worst.alert->commit), day_of(*worst.alert));
  }
  if (code == ExitCode::inconclusive) {
    return fmt::format("Not known yet: {} of {} need fresh runs.",
                       states(view, SeriesState::needs_reruns), series);
  }
  if (const std::string none = nothing_judged(view.report); !none.empty()) {
    return fmt::format("Not judged: {}.", none);
  }
  const long long young = states(view, SeriesState::new_baseline);
  return fmt::format("No new regression in {}{}.", series,
                     young > 0 ? fmt::format(", of which {} are too new to judge", young) : "");
}

/// "95 % interval +18.9 % to +21.2 %", or that there is none.
std::string tile_interval(const AlertMetric& metric) {
  if (metric.by == history::FoundBy::drift) return "a drift in all, without an interval";
  const std::string interval = interval_text(metric);
  return interval.empty() ? "no interval is known" : "95 % interval " + interval;
}

std::vector<Tile> tiles_of(const HistoryView& view) {
  const auto failing = std::ranges::count_if(view.report.alerts, &Alert::fails);
  std::vector<Tile> tiles;
  if (const FailingChange worst = largest_failing(view.report); worst.metric != nullptr) {
    tiles.push_back({"Largest change", signed_percent(worst.metric->ratio - 1),
                     tile_interval(*worst.metric), Tone::bad});
    tiles.push_back({"Since commit", short_commit(worst.alert->commit),
                     fmt::format("{}, after {}", day_of(*worst.alert),
                                 short_commit(worst.alert->before)),
                     Tone::plain});
  }
  const bool has_change = !tiles.empty();
  const std::vector<Tile> counts{
      {"Alerts that ask for attention", std::to_string(failing),
       fmt::format("of {} in all", view.report.alerts.size()),
       failing > 0                           ? Tone::bad
       : nothing_judged(view.report).empty() ? Tone::good
                                             : Tone::plain},
      {"Series", std::to_string(view.report.series.size()),
       counted(static_cast<long long>(view.report.points), "point"), Tone::plain},
      {"As before", std::to_string(states(view, SeriesState::as_before)),
       fmt::format("{} too new to judge", states(view, SeriesState::new_baseline)), Tone::plain}};
  tiles.insert(tiles.end(), counts.begin(), counts.end() - (has_change ? 1 : 0));
  if (const long long open = states(view, SeriesState::needs_reruns); open > 0) {
    tiles.push_back({"Need fresh runs", std::to_string(open), "beyond the bound", Tone::caution});
  }
  return tiles;
}

/// Doubts about the points: lost and incomplete ones.
Badge data_of(const HistoryView& view) {
  const history::CheckReport& report = view.report;
  const std::string points =
      fmt::format("{} of {} series", counted(static_cast<long long>(report.points), "point"),
                  report.series.size());
  if (report.lost + report.incomplete > 0) {
    return {Tone::caution, "Usable",
            fmt::format("{}; {} lost or incomplete.", points, report.lost + report.incomplete)};
  }
  const long long young = states(view, SeriesState::new_baseline);
  if (2 * young > std::ssize(report.series)) {
    return {Tone::caution, "Usable",
            fmt::format("{}; {} of the series are too new to judge.", points, young)};
  }
  return {Tone::good, "Good", points + "."};
}

}  // namespace

Page history_page(const HistoryView& view) {
  Page page;
  page.kind = "history";
  page.question = "Has anything become slower?";
  page.verdict = verdict_of(view);
  const ExitCode code = exit_code(view.report);
  const bool is_judged = nothing_judged(view.report).empty();
  page.tone = code == ExitCode::regression        ? Tone::bad
              : code == ExitCode::ok && is_judged ? Tone::good
                                                  : Tone::caution;
  page.tiles = tiles_of(view);
  page.picture = "history";
  page.next = steps_of_check(view.report, view.commands);
  page.data = data_of(view);
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
