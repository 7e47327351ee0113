#include "report/history/history_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "core/text/time_text.hpp"
#include "report/history/history_verdicts.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {
namespace {

namespace history = regression::history;
using history::Alert;
using history::AlertMetric;
using history::better_name;
using history::CheckReport;
using history::Ending;
using history::SeriesCheck;
using history::SeriesKey;
using history::SeriesState;
using regression::Verdict;
using regression::verdict_name;

std::string_view found_by_name(history::FoundBy by) {
  switch (by) {
    case history::FoundBy::newest_commit:
      return "newest commit";
    case history::FoundBy::change_point:
      return "change point";
    case history::FoundBy::drift:
      return "drift";
  }
  return "";
}

std::string_view ending_name(Ending ending) {
  switch (ending) {
    case Ending::open:
      return "open";
    case Ending::went_back:
      return "went back";
    case Ending::overtaken:
      return "overtaken";
    case Ending::jumps:
      return "jumps";
    case Ending::faded:
      return "faded";
  }
  return "";
}

/// Regressions first, largest first; details last.
std::vector<AlertMetric> ordered(std::vector<AlertMetric> metrics) {
  std::ranges::stable_sort(metrics, std::ranges::greater{}, [](const AlertMetric& metric) {
    return std::abs(std::log(metric.ratio));
  });
  std::ranges::stable_sort(metrics, {}, [](const AlertMetric& metric) {
    return 2 * static_cast<int>(metric.key.is_detail()) +
           static_cast<int>(metric.movement == Verdict::improved);
  });
  return metrics;
}

/// A metric of an alert.
struct ChangedMetric {
  const Alert* alert;
  AlertMetric metric;
};

std::vector<ChangedMetric> changed_metrics(const Alert& alert) {
  std::vector<ChangedMetric> rows;
  for (AlertMetric& metric : ordered(alert.metrics)) rows.push_back({&alert, std::move(metric)});
  return rows;
}

/// Fields of a metric in the order of JSON.
Fields<ChangedMetric> metric_fields() {
  using F = Field<ChangedMetric>;
  using enum Meaning;
  const auto its = [](auto... path) { return via(&ChangedMetric::metric, path...); };
  const auto of_key = [=](auto... path) { return its(&AlertMetric::key, path...); };
  const auto level = [](double AlertMetric::*which) {
    return [which](const ChangedMetric& row) {
      return history_value(row.metric.key, row.metric.*which);
    };
  };
  const auto ratio = [](const AlertMetric& metric) { return level_ratio(metric).value; };
  const auto ends = [](const AlertMetric& metric) { return level_ratio(metric).ends; };
  const auto verdict = [](const ChangedMetric& row) {
    return Cell{verdict_word(*row.alert, row.metric), tone_of(row.metric.movement)};
  };
  return {
      {"series", key, its(&AlertMetric::series), "id", as::words},
      {"name", key, of_key(&SeriesKey::name), "series", of_key(&SeriesKey::name, shown_name),
       Align::left},
      {"unit", key, of_key(&SeriesKey::unit)},
      F::json("better", of_key(&SeriesKey::direction, better_name)),
      {"movement", state, its(&AlertMetric::movement, verdict_name), "verdict", verdict,
       Align::left},
      {"found_by", state, its(&AlertMetric::by, found_by_name), "found by", as::words},
      {"before", value_in_unit, its(&AlertMetric::before), "before", level(&AlertMetric::before)},
      {"after", value_in_unit, its(&AlertMetric::after), "after", level(&AlertMetric::after)},
      {"ratio", value, its(ratio), "change", its(change_text)},
      {"ratio_interval", remark, its(ends), "95 % interval", its(interval_text)},
      F::json("run_before", its(&AlertMetric::run_before)),
      F::json("run_after", its(&AlertMetric::run_after)),
      F::json("explanation", its(&AlertMetric::explanation, text_or_null)),
      F::json("detail", of_key(&SeriesKey::is_detail)),
      F::json("drift_from", its(&AlertMetric::drift_from, text_or_null)),
      F::json("drift_to", its(&AlertMetric::drift_to, text_or_null)),
      F::json("ending", its(&AlertMetric::ending, ending_name)),
      F::json("ended_by", its(&AlertMetric::ended_by, text_or_null)),
  };
}

/// "1a2b3c4 (after 0f1e2d3, at 2b3c4d5 at the latest, 2026-01-16T12:00:00Z)".
std::string place_text(const Alert& alert) {
  const std::string latest = alert.latest.empty() || alert.latest == alert.commit
                                 ? ""
                                 : fmt::format("at {} at the latest, ", short_commit(alert.latest));
  return fmt::format("{} (after {}, {}{})", short_commit(alert.commit), short_commit(alert.before),
                     latest, time_text(alert.time));
}

std::string ending_text(const AlertMetric& metric) {
  switch (metric.ending) {
    case Ending::open:
      return "goes on";
    case Ending::went_back:
      return fmt::format("went back at {}", short_commit(metric.ended_by));
    case Ending::overtaken:
      return fmt::format("was overtaken by {}, which is expected", short_commit(metric.ended_by));
    case Ending::jumps:
      return "is a jump between levels that the series returns to";
    case Ending::faded:
      return "has faded: later commits show a level within the margin of the one before";
  }
  return "";
}

/// Alerts that ask for nothing any more, latest first: why each has ended.
Table ended_table(const CheckReport& report) {
  constexpr std::size_t most = 20;
  Table table;
  table.title = "Ended without an annotation";
  std::size_t more = 0;
  for (const Alert& alert : report.alerts) {
    if (!alert.has_ended()) continue;
    for (const AlertMetric& metric : ordered(alert.metrics)) {
      if (metric.key.is_detail()) continue;
      if (table.notes.size() == most) {
        ++more;
        continue;
      }
      table.notes.push_back(fmt::format(
          "{}: {} {} {}, {}", place_text(alert), shown_name(metric.key.name()),
          verdict_name(metric.movement), change_text(metric), ending_text(metric)));
    }
  }
  if (more > 0) table.notes.push_back(fmt::format("and {} earlier ones, which JSON has", more));
  return table;
}

Table alert_table(const Alert& alert) {
  const Fields<ChangedMetric> fields = picked(
      metric_fields(),
      {"name", "before", "after", "ratio", "ratio_interval", "movement", "found_by", "series"});
  Table table = table_of(fields, changed_metrics(alert));
  table.title = fmt::format("{}: {}", place_text(alert), alert_state_name(alert.state));
  for (const AlertMetric& metric : alert.metrics) {
    if (metric.by == history::FoundBy::drift) {
      table.notes.push_back(fmt::format(
          "{}: a drift from {} to {}, {} in all, of which no single commit need be the cause",
          shown_name(metric.key.name()), short_commit(metric.drift_from),
          short_commit(metric.drift_to), change_text(metric)));
    }
    if (!metric.explanation.empty()) {
      table.notes.push_back(
          fmt::format("{}: {}", shown_name(metric.key.name()), metric.explanation));
    }
    if (metric.ending != Ending::open) {
      table.notes.push_back(
          fmt::format("{}: {}", shown_name(metric.key.name()), ending_text(metric)));
    }
  }
  if (!alert.note.empty()) table.notes.push_back(alert.note);
  return table;
}

Table rerun_table(const CheckReport& report) {
  Table table;
  table.title = "To be run again";
  for (const history::Rerun& rerun : report.reruns) {
    constexpr std::size_t most = 5;
    std::vector<std::string> names;
    for (const std::string& name : rerun.series) {
      if (names.size() < most) names.push_back(shown_name(name));
    }
    const std::string more =
        rerun.series.size() > most ? fmt::format(" and {} more", rerun.series.size() - most) : "";
    table.notes.push_back(fmt::format("{} of {}, and add the results: {}{}",
                                      counted(static_cast<long long>(rerun.runs), "fresh run"),
                                      short_commit(rerun.commit), fmt::join(names, "; "), more));
    if (rerun.short_series > 0) {
      table.notes.push_back(fmt::format(
          "{} of these: fewer than {} commits are known, so that three runs or nights have to show "
          "a change, rather than two",
          rerun.short_series, history::short_history));
    }
  }
  return table;
}

Table environment_table(const CheckReport& report) {
  Table table;
  table.title = "Environment changed: a new baseline each";
  for (const history::EnvironmentChange& change : report.environments) {
    table.notes.push_back(fmt::format("at {} ({}), {} series: {}", short_commit(change.commit),
                                      time_text(change.time), change.series, change.what));
  }
  return table;
}

Table order_table(const CheckReport& report) {
  Table table;
  table.title = "Order of commits";
  const auto add = [&table](std::size_t count, std::string_view why) {
    if (count == 0) return;
    table.notes.push_back(
        fmt::format("{} of a series {}", counted(static_cast<long long>(count), "commit"), why));
  };
  add(report.order.by_name,
      "have the time of another, and their names order them, which may be wrong: add results with "
      "the repository named, so that their ancestry does");
  add(report.order.by_time,
      "have no known ancestry, so that times order all commits: add their results with the "
      "repository named");
  add(report.order.branched,
      "have as many ancestors as another, so they are of different branches, and their times "
      "order them");
  for (const std::string& name : report.ambiguous) {
    table.notes.push_back(fmt::format(
        "{} is the beginning of several commits' names, and counts as a commit of its own", name));
  }
  return table;
}

Table bimodal_table(const CheckReport& report) {
  Table table;
  table.title = "Jump between levels, which raises no alert";
  for (const SeriesCheck& check : report.series) {
    if (check.modes.empty()) continue;
    std::string modes;
    for (const double mode : check.modes) {
      modes += (modes.empty() ? "" : " | ") + history_value(check.key, mode);
    }
    table.notes.push_back(fmt::format("{}: {}", shown_name(check.key.name()), modes));
  }
  return table;
}

long long count(const CheckReport& report, SeriesState state) {
  return std::ranges::count(report.series, state, &SeriesCheck::state);
}

std::string verdict_of(const CheckReport& report) {
  if (!nothing_judged(report).empty()) return "not judged";
  switch (exit_code(report)) {
    case ExitCode::ok:
      return "no new regression";
    case ExitCode::inconclusive:
      return "inconclusive";
    default:
      return "regressed";
  }
}

/// The answer, and counts of series in states that it does not name.
std::string check_lead(const CheckReport& report) {
  std::string lead = history_answer(report);
  const bool has_regressed = exit_code(report) == ExitCode::regression;
  for (const SeriesState state :
       {SeriesState::new_baseline, SeriesState::needs_reruns, SeriesState::bimodal,
        SeriesState::ended, SeriesState::unusable}) {
    const bool is_young = state == SeriesState::new_baseline;
    const long long such = is_young && !has_regressed ? 0 : count(report, state);
    if (such == 0) continue;
    lead += fmt::format("; {} {}", such,
                        is_young ? "at a level too new to judge" : series_state_name(state));
  }
  return lead;
}

Json series_json(const SeriesCheck& check) {
  const bool judged = check.judged.has_bounds();
  return {{"series", check.id},
          {"name", check.key.name()},
          {"unit", check.key.unit},
          {"better", better_name(check.key.direction)},
          {"environment", check.key.environment_id()},
          {"state", series_state_name(check.state)},
          {"points", check.points},
          {"commits", check.commits},
          {"newest",
           {{"commit", check.newest.commit},
            {"time", time_text(check.newest.time)},
            {"value", number(check.newest.value)},
            {"runs", check.newest.runs.size()}}},
          {"level", check.judged.history > 0 ? number(check.judged.level) : Json(nullptr)},
          {"lowest", judged ? number(check.judged.lowest) : Json(nullptr)},
          {"highest", judged ? number(check.judged.highest) : Json(nullptr)},
          {"modes", check.modes},
          {"epoch", check.epoch.empty() ? Json(nullptr) : Json(check.epoch)}};
}

Json check_object(const CheckReport& report) {
  Json json;
  json["store"] = report.store;
  json["verdict"] = verdict_of(report);
  json["points"] = report.points;
  json["points_of_incomplete_runs"] = report.incomplete;
  json["points_lost"] = report.lost;
  json["unexplained"] = report.unexplained;
  json["alerts"] = Json::array();
  for (const Alert& alert : report.alerts) {
    Json one{{"commit", alert.commit},
             {"before", alert.before},
             {"latest", alert.latest},
             {"time", time_text(alert.time)},
             {"state", alert_state_name(alert.state)},
             {"note", alert.note},
             {"fails", alert.fails()}};
    one["metrics"] = list_of(metric_fields(), changed_metrics(alert));
    json["alerts"].push_back(std::move(one));
  }
  json["reruns"] = Json::array();
  for (const history::Rerun& rerun : report.reruns) {
    json["reruns"].push_back(
        {{"commit", rerun.commit}, {"runs", rerun.runs}, {"series", rerun.series}});
  }
  json["environments"] = Json::array();
  for (const history::EnvironmentChange& change : report.environments) {
    json["environments"].push_back({{"commit", change.commit},
                                    {"time", time_text(change.time)},
                                    {"series", change.series},
                                    {"what", change.what}});
  }
  json["series"] = Json::array();
  for (const SeriesCheck& check : report.series) json["series"].push_back(series_json(check));
  return json;
}

Table check_records(const CheckReport& report) {
  using F = Field<ChangedMetric>;
  using enum Meaning;
  const auto of_alert = [](auto... path) { return via(&ChangedMetric::alert, path...); };
  const auto its = [](auto... path) { return via(&ChangedMetric::metric, path...); };
  const auto detail = [](const ChangedMetric& row) {
    return row.metric.key.is_detail() ? "yes" : "no";
  };
  const Fields<ChangedMetric> fields = metric_fields();
  std::vector<ChangedMetric> rows;
  for (const Alert& alert : report.alerts) {
    std::ranges::move(changed_metrics(alert), std::back_inserter(rows));
  }
  return records_of(
      joined<ChangedMetric>(
          {{F::record("commit", key, of_alert(&Alert::commit)),
            F::record("before", remark, of_alert(&Alert::before)),
            F::record("state", state, of_alert(&Alert::state, history::alert_state_name))},
           picked(fields, {"series", "name", "unit"}),
           {F::record("before_value", value_in_unit, its(&AlertMetric::before)),
            F::record("after_value", value_in_unit, its(&AlertMetric::after))},
           picked(fields, {"ratio", "movement", "found_by"}),
           {F::record("detail", key, detail)}}),
      rows);
}

}  // namespace

std::string short_commit(const std::string& commit) {
  constexpr std::size_t digits = 12;
  return commit.size() > digits && commit.find_first_not_of("0123456789abcdef") == std::string::npos
             ? commit.substr(0, digits)
             : commit;
}

std::string shown_name(const std::string& name) {
  constexpr std::size_t most = 300;
  constexpr unsigned continues = 0x80;  // of a character in UTF-8
  if (name.size() <= most) return name;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == continues) --end;
  return fmt::format("{}… ({} bytes)", name.substr(0, end), name.size());
}

std::string history_value(const history::SeriesKey& key, double value) {
  if (key.unit == "s") return to_text(Seconds(value));
  if (key.unit == "B/s") return to_text(BytesPerSecond(value));
  if (key.metric == "predicted_over_measured") return signed_percent(value - 1);
  return fmt::format("{:.4g} {}", value, key.unit);
}

Table unread_table(const history::CheckReport& report) {
  Table table{"Left out", {}, {}, {}};
  const auto points = [](std::size_t count) {
    return counted(static_cast<long long>(count), "point");
  };
  if (report.incomplete > 0) {
    table.notes.push_back(
        fmt::format("{} of runs that were not added whole: add their files again, unless they "
                    "are being added now",
                    points(report.incomplete)));
  }
  if (report.lost > 0) {
    table.notes.push_back(
        fmt::format("{} of runs that were added whole, which no series holds any more: files of "
                    "the history were damaged or taken away. Restore them, or add the files of "
                    "those runs again",
                    points(report.lost)));
  }
  for (const std::string& why : report.unexplained) {
    table.notes.push_back("where an iteration changed: " + why);
  }
  return table;
}

Document history_check_document(const history::CheckReport& report) {
  Document document;
  document.lead = check_lead(report);
  for (const Alert& alert : report.alerts) {
    if (!alert.has_ended()) document.tables.push_back(alert_table(alert));
  }
  for (Table table : {ended_table(report), rerun_table(report), bimodal_table(report),
                      order_table(report), environment_table(report)}) {
    if (!table.notes.empty()) document.tables.push_back(std::move(table));
  }
  if (Table table = unread_table(report); !table.notes.empty()) {
    document.tables.push_back(std::move(table));
  }
  document.records = check_records(report);
  document.verdicts = check_verdicts(report);
  document.json = json_answer("dlscale.history_check", [report] { return check_object(report); });
  return document;
}

}  // namespace dlscale::report
