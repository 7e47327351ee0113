#include "report/answers/plan_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
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

/// The unit of times about so long.
struct TimeUnit {
  explicit TimeUnit(double seconds) : days(seconds >= 48 * one_hour) {}
  bool days;
  [[nodiscard]] std::string number(double seconds) const {
    return significant(seconds / (days ? 24 * one_hour : one_hour), 3);
  }
  [[nodiscard]] const char* word() const { return days ? "days" : "h"; }
};

std::string hours_text(double seconds) {
  const TimeUnit unit(seconds);
  return fmt::format("{} {}", unit.number(seconds), unit.word());
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

/// "3.31 to 5.16 h"; empty without an interval.
std::string training_interval(const Json& one) {
  const auto low = time_at(one, "t_iter_low_s");
  const auto high = time_at(one, "t_iter_high_s");
  const TimeUnit unit(training_time(one));
  return low && high
             ? fmt::format("{} {}", from_to(unit.number(*low), unit.number(*high)), unit.word())
             : "";
}

bool has_price(const Json& plan) {
  return number_in(plan.at("best").at(0), "cost").has_value();
}

/// The cost, or the rank hours without a price. Both grow in proportion to the time.
double expense(const Json& one) {
  const auto cost = number_in(one, "cost");
  return cost ? *cost : one.at("rank_hours").get<double>();
}

std::string expense_text(double amount) {
  return amount < 1000 ? significant(amount, 3) : rate_text(amount);
}

/// "119", of a cost, or "65.8 h", of rank hours.
std::string expense_with_unit(const Json& one) {
  return expense_text(expense(one)) + (number_in(one, "cost") ? "" : " h");
}

/// "93.2 to 138"; empty without an interval.
std::string expense_interval(const Json& one) {
  const auto low = time_at(one, "t_iter_low_s");
  const auto high = time_at(one, "t_iter_high_s");
  if (!low || !high) return "";
  const auto at = [&one](double time) {
    return expense_text(expense(one) * time / training_time(one));
  };
  return from_to(at(*low), at(*high));
}

/// ", at a cost of 119 (93.2 to 138)", or in rank hours where they decide; empty where neither was
/// asked for.
std::string expense_clause(const Json& plan) {
  const Json& best = plan.at("best").at(0);
  const bool price = has_price(plan);
  if (!price && plan.at("question").at("objective") != "cost") return "";
  const std::string interval = expense_interval(best);
  return fmt::format(", {} {}{}{}", price ? "at a cost of" : "in", expense_text(expense(best)),
                     price ? "" : " rank hours",
                     interval.empty() ? "" : fmt::format(" ({})", interval));
}

std::string superlative(const Json& plan) {
  const Json& objective = plan.at("question").at("objective");
  if (objective == "cost") return "Cheapest";
  return objective == "efficiency" ? "Most efficient" : "Fastest";
}

/// The first of these options that the answer was asked by, as it was typed; else `other`.
std::string asked_option(const Json& plan, std::initializer_list<const char*> names,
                         const char* other) {
  const auto options = plan.find("options");
  if (options == plan.end()) return other;
  for (const char* name : names) {
    if (options->contains(name)) return fmt::format("--{}", name);
  }
  return other;
}

/// The limit that the training exceeds.
std::string exceeded_limit(const Json& one, const Json& plan) {
  const Json& question = plan.at("question");
  const auto exceeds = [&question](const char* limit, double amount) {
    const auto most = number_in(question, limit);
    return most && amount > *most;
  };
  if (exceeds("time_limit_s", training_time(one))) {
    return asked_option(plan, {"time-limit"}, "the time limit");
  }
  return exceeds("budget", expense(one))
             ? asked_option(plan, {"budget"}, "the budget")
             : asked_option(plan, {"max-global-batch"}, "the largest global batch");
}

/// "16 ranks would be faster, but exceed --budget".
std::string beyond_limits_clause(const Json& plan, const std::string& choice) {
  const Json& question = plan.at("question");
  const Json& objective = question.at("objective");
  const char* better = objective == "cost"   ? "cost less"
                       : objective == "time" ? "be faster"
                                             : "be more efficient";
  return fmt::format("{} would {}, but exceed {}", choice, better,
                     exceeded_limit(plan.at("beyond_limits"), plan));
}

/// "--max-ranks stops at 8 of the cluster's 16 ranks": why the best has so many.
std::string ranks_clause(const Json& plan) {
  const Json& question = plan.at("question");
  const auto bound = plan.at("ranks_bound_by").get<std::string>();
  if (bound == "cluster") return "the cluster has no more ranks";
  if (bound == "asked") {
    return fmt::format("{} stops at {} of the cluster's {} ranks",
                       asked_option(plan, {"max-ranks", "ranks"}, "the choice of ranks"),
                       plan.at("best").at(0).at("ranks").dump(),
                       question.at("cluster_ranks").dump());
  }
  if (bound == "shares") {
    return fmt::format("more ranks cannot share the global batch of {} equally",
                       question.at("global_batch").dump());
  }
  if (bound == "limits") {
    const auto ranks = plan.at("beyond_limits").at("ranks").get<long long>();
    return beyond_limits_clause(plan, counted(ranks, "rank"));
  }
  const Json& objective = question.at("objective");
  return objective == "cost"   ? "more ranks cost more"
         : objective == "time" ? "more ranks are slower"
                               : "more ranks are less efficient";
}

/// "the memory holds no larger one of those tried": why the best has this batch.
std::string batch_reason(const Json& plan) {
  const auto bound = plan.at("batch_bound_by").get<std::string>();
  if (bound == "memory") return "the memory holds no larger one of those tried";
  if (bound == "asked") {
    return asked_option(plan, {"batch"}, "the default of batches") + " allows no larger one";
  }
  if (bound == "shares") {
    return "its share of a global batch of " + plan.at("question").at("global_batch").dump();
  }
  if (bound != "limits") return "the best of those tried";
  return beyond_limits_clause(plan, "batches of " + plan.at("beyond_limits").at("batch").dump());
}

/// ranks_clause() as a sentence.
std::string ranks_sentence(const Json& plan) {
  std::string text = ranks_clause(plan);
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text + ".";
}

std::string plan_verdict(const Json& plan) {
  const Json& best = plan.at("best").at(0);
  const std::string interval = training_interval(best);
  return fmt::format("{} on {} with {} samples each, schedule {}: {} epochs take {}{}{}. {}",
                     superlative(plan), counted(best.at("ranks").get<long long>(), "rank"),
                     best.at("batch").dump(),
                     with_settings(best.at("schedule").get<std::string>(), best),
                     epochs_text(best.at("epochs").get<double>()), hours_text(training_time(best)),
                     interval.empty() ? "" : fmt::format(" (90 % interval {})", interval),
                     expense_clause(plan), ranks_sentence(plan));
}

/// The limits of the search, and how surely the best keeps to them.
std::optional<Tile> limits_tile(const Json& plan) {
  const Json& question = plan.at("question");
  std::vector<std::string> limits;
  if (const auto time = number_in(question, "time_limit_s")) {
    limits.push_back("time ≤ " + hours_text(*time));
  }
  for (const auto& [key, what] :
       {std::pair("budget", "cost"), std::pair("max_global_batch", "global batch")}) {
    if (const auto most = number_in(question, key)) {
      limits.push_back(fmt::format("{} ≤ {:.10g}", what, *most));
    }
  }
  if (limits.empty()) return {};
  const Json& kept = plan.at("best").at(0).at("limits_kept");
  const bool may_exceed = kept == "as predicted";
  return Tile{"Limits kept", kept.is_string() ? kept.get<std::string>() : "as predicted",
              fmt::format("{}{}", fmt::join(limits, ", "),
                          may_exceed ? "; not at the slow end of the interval" : ""),
              may_exceed ? Tone::caution : Tone::plain};
}

std::vector<Tile> plan_tiles(const Json& plan) {
  const Json& best = plan.at("best").at(0);
  const auto ninety = [](const std::string& interval) {
    return interval.empty() ? "no interval" : interval + " (90 %)";
  };
  const std::string ranks = best.at("ranks").dump();
  const std::string efficiency =
      ranks == "1" ? ""
                   : fmt::format("; {} of {} × one rank",
                                 percent(best.at("efficiency").get<double>()), ranks);
  const Tile of_ranks{
      "Ranks", ranks,
      fmt::format("of {} in the cluster; {} of {} choices fit",
                  plan.at("question").at("cluster_ranks").dump(), plan.at("within_limits").dump(),
                  plan.at("configurations").dump()),
      Tone::plain};
  return {{"Time to train", hours_text(training_time(best)), ninety(training_interval(best)),
           Tone::plain},
          {has_price(plan) ? "Cost" : fmt::format("Rank hours: {} × time", ranks),
           expense_with_unit(best), ninety(expense_interval(best)), Tone::plain},
          {"Throughput", rate_text(best.at("images_per_s").get<double>()) + " samples/s",
           rate_detail(best, "images_per_s", rate_text) + efficiency, Tone::plain},
          {"Batch of a rank", best.at("batch").dump(), batch_reason(plan), Tone::plain},
          limits_tile(plan).value_or(of_ranks)};
}

/// Names a choice by its ranks, and by what else differs from choice to choice of the front.
class ShortNames {
 public:
  explicit ShortNames(const Json& plan) {
    for (const char* list : {"front", "best"}) {
      for (const Json& one : plan.at(list)) {
        batches_.insert(one.at("batch").get<long long>());
        exchanges_.insert(exchange(one));
        if (std::string_view(list) == "best") break;  // only the first has a label
      }
    }
  }
  std::string operator()(const Json& one) const {
    std::string text = counted(one.at("ranks").get<long long>(), "rank");
    if (batches_.size() > 1) text += fmt::format(", batch {}", one.at("batch").dump());
    return exchanges_.size() > 1 ? text + ", " + exchange(one) : text;
  }

 private:
  static std::string exchange(const Json& one) {
    return with_settings(one.at("schedule").get<std::string>(), one);
  }
  std::set<long long> batches_;
  std::set<std::string> exchanges_;
};

std::optional<Figure> front_figure(const Json& plan) {
  const ShortNames label(plan);
  const bool price = has_price(plan);
  std::vector<figure::ParetoPoint> points;
  const auto add = [&](const Json& one) {
    const auto y = price ? number_in(one, "cost") : number_in(one, "rank_hours");
    const std::string name = choice_name(one);
    const auto known = std::ranges::find(points, name, &figure::ParetoPoint::name);
    if (!y || known != points.end()) return;
    points.push_back({name, label(one), training_time(one) / one_hour, *y});
    const auto low = time_at(one, "t_iter_low_s");
    const auto high = time_at(one, "t_iter_high_s");
    if (!low || !high) return;
    points.back().x_low = *low / one_hour;
    points.back().x_high = *high / one_hour;
    points.back().y_low = *y * *low / training_time(one);
    points.back().y_high = *y * *high / training_time(one);
  };
  for (const Json& one : plan.at("front")) add(one);
  add(plan.at("best").at(0));
  for (const Json& one : plan.at("neighbours")) {
    if (one.at("within_limits").get<bool>()) add(one);  // others may beat the front
  }
  const std::string best = choice_name(plan.at("best").at(0));
  for (figure::ParetoPoint& point : points) point.best = point.name == best;
  figure::mark_front(points);
  return figure::pareto_front(points, {"time to train, h", price ? "cost" : "rank hours, h"});
}

Table choices_table(const Json& choices, std::string title) {
  Table table{std::move(title),
              {{"ranks"},
               {"batch"},
               {"schedule", Align::left},
               {"settings", Align::left},
               {"time"},
               {"90 % interval"},
               {"rank hours"},
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

Badge badge_of_plan(const Json& plan) {
  const Json& best = plan.at("best").at(0);
  const Json& notes = best.at("notes");
  const bool sheets = std::ranges::any_of(
      notes, [](const Json& note) { return note.at("kind") == "sheet_kernels"; });
  const bool measured = is_measured(plan);
  const std::string basis = measured || sheets ? basis_of_sheets(measured)
                                               : "measured or fitted parts, as the notes say";
  return interval_badge(
      basis, "the time",
      {training_time(best), time_at(best, "t_iter_low_s"), time_at(best, "t_iter_high_s")});
}

Page page_of_plan(const Json& plan) {
  Page page = plan_opening(plan);
  const Items notes = plan_notes(plan);
  page.data = badge_of_plan(plan);
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
      {"front", "Time against rank hours", {choices_table(plan.at("front"), "The front")}});
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
