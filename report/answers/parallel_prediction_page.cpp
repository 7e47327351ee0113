#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/units.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/answers/parallel_page.hpp"
#include "report/answers/parallel_words.hpp"
#include "report/figure/stacked_bars.hpp"

namespace dlscale::report {
namespace {

using nlohmann::json;

/// A part of an iteration: its key and a word for it.
constexpr std::array<std::pair<const char*, const char*>, 6> iteration_parts{
    {{"t_compute_s", "compute"},
     {"t_layer_messages_s", "messages of layers"},
     {"t_bubble_s", "bubble"},
     {"t_gradients_s", "gradients"},
     {"t_update_s", "update"},
     {"t_memory_waits_s", "waits for memory"}}};

double rate_of(const json& plan) {
  return plan.at("tokens_per_s").get<double>();
}

std::string ranks_text(const json& plan) {
  return counted(plan.at("ranks").get<long long>(), "rank");
}

std::string rate_text(const json& plan) {
  return significant(rate_of(plan), 4) + " tokens/s";
}

/// Whether the plan fits the device, as a clause.
std::string fit_clause(const json& plan) {
  const auto fits = plan.at("fits").get<std::string>();
  if (fits == "yes") return "it fits the memory";
  return fits == "no" ? "it does not fit the memory" : "it may not fit the memory";
}

Tile memory_tile(const json& plan) {
  const auto fits = plan.at("fits").get<std::string>();
  const auto low = number_in(plan, "memory_low_bytes");
  const auto high = number_in(plan, "memory_high_bytes");
  std::string detail =
      fmt::format("of {}", gigabytes(plan.at("device_memory_bytes").get<double>()));
  if (low && high) detail = fmt::format("{} to {} ", gigabytes(*low), gigabytes(*high)) + detail;
  return {"Memory of a rank", gigabytes(plan.at("memory_bytes").get<double>()), detail,
          fits == "yes"  ? Tone::good
          : fits == "no" ? Tone::bad
                         : Tone::caution};
}

std::vector<Tile> tiles_of_plan(const json& plan) {
  const double time = plan.at("t_iter_s").get<double>();
  const double messages = plan.at("t_layer_messages_s").get<double>();
  return {{"Iteration", to_text(Seconds(time)), iteration_ends(plan), Tone::plain},
          {"Throughput", rate_text(plan),
           fmt::format("{}, {} sequences", ranks_text(plan), plan.at("global_batch").dump()),
           Tone::plain},
          {"FLOP utilisation", percent(plan.at("model_flop_utilisation").get<double>()),
           plan.at("framework").is_string() ? plan.at("framework").get<std::string>() : "",
           Tone::plain},
          memory_tile(plan),
          {"Bound by", plan.at("bound").get<std::string>(),
           fmt::format("messages of layers {}", percent(messages / time)), Tone::plain}};
}

/// A bar for each plan; plans of the same layout differ in ranks.
std::optional<Figure> parts_of_plans(const json& plans) {
  figure::StackedBars bars{"iteration", "Where the time of an iteration goes",
                           "time of an iteration, s (more is worse)", "90 % interval"};
  bars.unit = "s";
  bars.factor = 1;
  for (const json& plan : plans) {
    figure::StackedBar bar{ranks_text(plan), plan.at("plan").get<std::string>()};
    bar.low = number_in(plan, "t_iter_low_s");
    bar.high = number_in(plan, "t_iter_high_s");
    bar.total = plan.at("t_iter_s").get<double>();
    for (const auto& [key, word] : iteration_parts) {
      bar.parts.push_back({word, plan.at(key).get<double>()});
    }
    bars.bars.push_back(std::move(bar));
  }
  return figure::stacked_bars(bars);
}

Table plans_table(const json& plans) {
  Table table{"Plans",
              {{"plan", Align::left},
               {"ranks"},
               {"iteration"},
               {"90 % interval"},
               {"tokens/s"},
               {"FLOP utilisation"},
               {"memory"},
               {"fits", Align::left},
               {"bound by", Align::left}},
              {},
              {}};
  for (const json& plan : plans) {
    table.rows.push_back({{plan.at("plan").get<std::string>()},
                          {plan.at("ranks").dump()},
                          {to_text(Seconds(plan.at("t_iter_s").get<double>()))},
                          {iteration_ends(plan)},
                          {significant(rate_of(plan), 4)},
                          {percent(plan.at("model_flop_utilisation").get<double>())},
                          {gigabytes(plan.at("memory_bytes").get<double>())},
                          {plan.at("fits").get<std::string>()},
                          {plan.at("bound").get<std::string>()}});
  }
  return table;
}

/// The fastest plan that fits; with several plans it is named, or it is said that none does.
std::string verdict_of_plans(const json& plans, const json& best) {
  const std::string told = fmt::format("{} on {}: an iteration takes {}, bound by {}; {}",
                                       rate_text(best), ranks_text(best), iteration_text(best),
                                       best.at("bound").get<std::string>(), fit_clause(best));
  if (plans.size() == 1) return told + ".";
  const auto fits = best.at("fits").get<std::string>();
  return fmt::format("{} {}: {}.",
                     fits == "yes"  ? "Fastest of those that fit is"
                     : fits == "no" ? "None fits; fastest is"
                                    : "None surely fits; fastest of those that may is",
                     best.at("plan").get<std::string>(), told);
}

Page page_of_plans(const json& answer) {
  const json& plans = answer.at("plans");
  const json& best = best_plan(plans);
  Page page;
  page.kind = "prediction";
  page.question =
      fmt::format("How fast does {} train on {}?", best.at("network").get<std::string>(),
                  best.at("cluster").get<std::string>());
  page.verdict = verdict_of_plans(plans, best);
  page.tone = best.at("fits").get<std::string>() == "no" ? Tone::bad : Tone::plain;
  page.tiles = tiles_of_plan(best);
  page.data = sheet_badge(answer, best);
  page.data_section = "notes";
  if (auto figure = parts_of_plans(plans)) {
    page.picture = figure->name;
    page.figures.push_back(std::move(*figure));
  }
  page.sections = {{"plans", "All plans", {plans_table(plans)}}, notes_section(answer)};
  return page;
}

}  // namespace

const json& best_plan(const json& plans) {
  const auto fit_of = [](const json& plan) {
    const auto fits = plan.at("fits").get<std::string>();
    return fits == "yes" ? 2 : fits == "no" ? 0 : 1;
  };
  return *std::max_element(plans.begin(), plans.end(), [&](const json& a, const json& b) {
    return std::pair(fit_of(a), rate_of(a)) < std::pair(fit_of(b), rate_of(b));
  });
}

AnswerPage parallel_prediction_page(const std::string& text, const std::string& file) {
  return page_of_answer(text, file, "predictions of plans", [](const json& answer) {
    AnswerPage made{page_of_plans(answer), {}};
    const json& plans = answer.at("plans");
    made.document.tables = {plans_table(plans)};
    made.document.records = records_of_objects(
        {plans.begin(), plans.end()}, {"network", "cluster", "plan", "ranks", "global_batch"},
        {"t_iter_s", "t_iter_low_s", "t_iter_high_s", "tokens_per_s", "memory_bytes"});
    return made;
  });
}

}  // namespace dlscale::report
