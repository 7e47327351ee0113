#include "report/answers/plan_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/units.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/answers/parallel_words.hpp"
#include "report/figure/pareto.hpp"
#include "report/table/interval.hpp"
#include "report/table/run_words.hpp"

namespace dlscale::report {
namespace {

constexpr double one_hour = 3600;

std::string hours_text(double seconds) {
  if (seconds < 48 * one_hour) return significant(seconds / one_hour, 3) + " h";
  return significant(seconds / (24 * one_hour), 3) + " days";
}

/// The settings of a choice beside ranks, batch and schedule: "buckets of 2.00 MiB", "2 servers".
std::string settings_text(const Json& one) {
  std::vector<std::string> settings;
  if (const auto bucket = number_in(one, "bucket_bytes")) {
    settings.push_back("buckets of " + to_text(Bytes(*bucket)));
  }
  if (const auto way = one.at("synchronisation").get<std::string>(); way != "all_reduce") {
    settings.push_back(way);
  }
  if (one.at("servers").is_number()) {
    settings.push_back(counted(one.at("servers").get<long long>(), "server"));
  }
  for (const char* key : {"sharding", "transport", "callers"}) {
    const Json& value = one.at(key);
    if (value.is_string()) settings.push_back(fmt::format("{} {}", key, value.get<std::string>()));
  }
  return fmt::format("{}", fmt::join(settings, ", "));
}

std::string with_settings(std::string text, const Json& one) {
  const std::string settings = settings_text(one);
  return settings.empty() ? text : text + ", " + settings;
}

std::string choice_name(const Json& one) {
  return with_settings(
      fmt::format("{}, batch {}, {}", counted(one.at("ranks").get<long long>(), "rank"),
                  one.at("batch").dump(), one.at("schedule").get<std::string>()),
      one);
}

double training_time(const Json& one) {
  return one.at("time_to_train_s").get<double>();
}

/// The time to train at an end of the interval of an iteration.
std::optional<double> time_at(const Json& one, const char* end) {
  const auto iteration = number_in(one, end);
  const double planned = one.at("t_iter_s").get<double>();
  if (!iteration || !(planned > 0)) return {};
  return training_time(one) * *iteration / planned;
}

/// "3.31 h to 5.16 h"; empty without an interval.
std::string training_interval(const Json& one) {
  const auto low = time_at(one, "t_iter_low_s");
  const auto high = time_at(one, "t_iter_high_s");
  return low && high ? from_to(hours_text(*low), hours_text(*high)) : "";
}

bool has_price(const Json& plan) {
  return number_in(plan.at("best").at(0), "cost").has_value();
}

std::string plan_verdict(const Json& plan) {
  const Json& best = plan.at("best").at(0);
  const std::string interval = training_interval(best);
  const std::string price =
      has_price(plan) ? fmt::format(", at a cost of {}", significant(*number_in(best, "cost"), 4))
                      : "";
  return fmt::format("On {} with {} samples each, schedule {}: {} epochs take {}{}{}.",
                     counted(best.at("ranks").get<long long>(), "rank"), best.at("batch").dump(),
                     with_settings(best.at("schedule").get<std::string>(), best),
                     epochs_text(best.at("epochs").get<double>()), hours_text(training_time(best)),
                     interval.empty() ? "" : fmt::format(" (90 % interval {})", interval), price);
}

std::vector<Tile> plan_tiles(const Json& plan) {
  const Json& best = plan.at("best").at(0);
  std::vector<Tile> tiles{
      {"Time to train", hours_text(training_time(best)),
       training_interval(best).empty() ? "no interval" : training_interval(best) + " (90 %)",
       Tone::plain},
      {"Hours of ranks", significant(best.at("rank_hours").get<double>(), 4),
       has_price(plan) ? fmt::format("cost {}", significant(*number_in(best, "cost"), 4)) : "",
       Tone::plain},
      {"Throughput", rate_text(best.at("images_per_s").get<double>()) + " samples/s",
       fmt::format("efficiency {}", percent(best.at("efficiency").get<double>())), Tone::plain},
      {"Choices within the limits", plan.at("within_limits").dump(),
       fmt::format("of {} tried", plan.at("configurations").dump()), Tone::plain}};
  if (best.at("limits_kept").is_string()) {
    tiles.push_back({"Limits kept", best.at("limits_kept").get<std::string>(),
                     "of the interval of the time", Tone::plain});
  }
  return tiles;
}

std::optional<Figure> front_figure(const Json& plan) {
  const bool price = has_price(plan);
  std::vector<figure::ParetoPoint> points;
  const auto add = [&](const Json& one, bool front) {
    const auto y = price ? number_in(one, "cost") : number_in(one, "rank_hours");
    const std::string name = choice_name(one);
    const auto known = std::ranges::find(points, name, &figure::ParetoPoint::name);
    if (!y || known != points.end()) return;
    points.push_back({name, training_time(one) / one_hour, *y, false, front});
    const auto low = time_at(one, "t_iter_low_s");
    const auto high = time_at(one, "t_iter_high_s");
    if (!low || !high) return;
    points.back().x_low = *low / one_hour;
    points.back().x_high = *high / one_hour;
  };
  for (const Json& one : plan.at("front")) add(one, true);
  add(plan.at("best").at(0), false);
  for (const Json& one : plan.at("neighbours")) add(one, false);
  const std::string best = choice_name(plan.at("best").at(0));
  for (figure::ParetoPoint& point : points) point.best = point.name == best;
  return figure::pareto_front(points, {"time to train, h", price ? "cost" : "hours of ranks"});
}

Table choices_table(const Json& choices, std::string title) {
  Table table{std::move(title),
              {{"ranks"},
               {"batch"},
               {"schedule", Align::left},
               {"settings", Align::left},
               {"time"},
               {"90 % interval"},
               {"hours of ranks"},
               {"efficiency"}},
              {},
              {}};
  for (const Json& one : choices) {
    table.rows.push_back({{one.at("ranks").dump()},
                          {one.at("batch").dump()},
                          {one.at("schedule").get<std::string>()},
                          {settings_text(one)},
                          {hours_text(training_time(one))},
                          {training_interval(one)},
                          {significant(one.at("rank_hours").get<double>(), 4)},
                          {percent(one.at("efficiency").get<double>())}});
  }
  return table;
}

std::vector<ChangedPlan> changed_choices(const Json& plan) {
  std::vector<ChangedPlan> changed;
  const double best = training_time(plan.at("best").at(0));
  for (const Json& one : plan.at("neighbours")) {
    const bool kept = one.at("within_limits").get<bool>();
    changed.push_back({one.at("change").get<std::string>(),
                       hours_text(training_time(one)),
                       training_time(one) / best,
                       {kept ? "kept" : "missed", kept ? Tone::plain : Tone::caution}});
  }
  return changed;
}

Items left_out_items(const Json& plan) {
  Items items;
  for (const char* key : {"left_out_for_memory", "left_out_for_servers", "simulated_because"}) {
    for (const Json& line : plan.at(key)) items.lines.push_back(line.get<std::string>());
  }
  return items;
}

Items plan_notes(const Json& plan) {
  Items items;
  for (const Json& note : plan.at("best").at(0).at("notes")) {
    items.lines.push_back(note.at("text").get<std::string>());
  }
  return items;
}

Page page_of_plan(const Json& plan) {
  Page page = plan_opening(plan);
  const Items notes = plan_notes(plan);
  const bool simulated = plan.at("by_simulation").get<long long>() > 0;
  page.data = usable_data(fmt::format("iterations are predicted {}; the sections say what from.",
                                      simulated ? "by simulation"
                                                : "by closed forms, and the best by "
                                                  "simulation"));
  page.data_section = "notes";
  if (auto figure = front_figure(plan)) {
    page.picture = figure->name;
    page.figures.push_back(std::move(*figure));
  }
  page.sections = {{"best", "The best plans", {choices_table(plan.at("best"), "The best plans")}}};
  if (!plan.at("neighbours").empty()) {
    page.sections.push_back(changes_section(changed_choices(plan), {"time", "limits"}));
  }
  page.sections.push_back(
      {"front", "Time against hours of ranks", {choices_table(plan.at("front"), "The front")}});
  if (Items left = left_out_items(plan); !left.lines.empty()) {
    page.sections.push_back({"left-out", "What was left out", {std::move(left)}});
  }
  page.sections.push_back({"notes", "What this rests on", {notes}});
  return page;
}

}  // namespace

std::string epochs_text(double epochs) {
  return epochs == std::round(epochs) ? grouped(std::llround(epochs)) : significant(epochs, 3);
}

Page plan_opening(const Json& answer) {
  Page page;
  page.kind = "plan";
  page.question =
      fmt::format("How should {} be trained on {}?", answer.at("network").get<std::string>(),
                  answer.at("cluster").get<std::string>());
  page.verdict = plan_verdict(answer);
  page.tiles = plan_tiles(answer);
  return page;
}

AnswerPage plan_page(const std::string& text, const std::string& file) {
  return page_of_answer(text, file, "plans", [](const Json& plan) {
    AnswerPage made{page_of_plan(plan), {}};
    made.document.tables = {choices_table(plan.at("best"), "The best plans")};
    const std::vector<Json> best(plan.at("best").begin(), plan.at("best").end());
    made.document.records =
        records_of_objects(best, {"ranks", "batch", "schedule"},
                           {"t_iter_s", "images_per_s", "time_to_train_s", "rank_hours"});
    return made;
  });
}

}  // namespace dlscale::report
