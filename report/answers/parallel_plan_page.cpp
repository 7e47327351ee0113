#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/units.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/answers/parallel_page.hpp"
#include "report/answers/parallel_words.hpp"
#include "report/figure/pareto.hpp"

namespace dlscale::report {
namespace {

using nlohmann::json;

/// "tensor 2, stages 4, data 4": the degrees above 1.
std::string layout_of(const json& plan) {
  std::string text;
  for (const char* kind : {"tensor", "context", "stages", "experts", "data"}) {
    const auto degree = plan.at(kind).get<long long>();
    if (degree > 1) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kind, degree);
  }
  return text.empty() ? "one rank" : text;
}

double time_of_plan(const json& plan) {
  return plan.at("t_iter_s").get<double>();
}

std::string verdict_of_plan(const json& best) {
  return fmt::format("Best is {} on {}: an iteration takes {}, {} tokens/s.", layout_of(best),
                     counted(best.at("gpus").get<long long>(), "GPU"), iteration_text(best),
                     significant(best.at("tokens_per_s").get<double>(), 4));
}

std::vector<Tile> tiles_of_best(const json& answer) {
  const json& best = answer.at("best").at(0);
  return {{"Iteration", to_text(Seconds(time_of_plan(best))), iteration_ends(best), Tone::plain},
          {"Throughput", significant(best.at("tokens_per_s").get<double>(), 4) + " tokens/s",
           fmt::format("{} sequences an iteration", answer.at("global_batch").dump()), Tone::plain},
          {"FLOP utilisation", percent(best.at("flop_utilisation").get<double>()),
           best.at("framework").get<std::string>(), Tone::plain},
          {"Memory of a rank", gigabytes(best.at("memory_bytes").get<double>()),
           fmt::format("at most {}", gigabytes(best.at("memory_high_bytes").get<double>())),
           Tone::plain},
          {"Plans timed", answer.at("timed").dump(),
           fmt::format("{} more do not fit", answer.at("not_fitting").dump()), Tone::plain}};
}

std::optional<Figure> memory_front(const json& answer) {
  const auto best = answer.at("best").at(0).at("plan").get<std::string>();
  std::vector<figure::ParetoPoint> points;
  const auto add = [&](const json& plan, bool front) {
    const auto name = plan.at("plan").get<std::string>();
    points.push_back({layout_of(plan), time_of_plan(plan),
                      1e-9 * plan.at("memory_bytes").get<double>(), front && name == best, front});
  };
  for (const json& plan : answer.at("memory_front")) add(plan, true);
  for (const json& plan : answer.at("neighbours")) add(plan, false);
  return figure::pareto_front(points, {"iteration, s", "memory of a rank, GB"});
}

Table choices_of(const json& plans, std::string title) {
  Table table{std::move(title),
              {{"plan", Align::left},
               {"GPUs"},
               {"iteration"},
               {"90 % interval"},
               {"tokens/s"},
               {"memory"},
               {"against the best"}},
              {},
              {}};
  for (const json& plan : plans) {
    table.rows.push_back({{plan.at("plan").get<std::string>()},
                          {plan.at("gpus").dump()},
                          {to_text(Seconds(time_of_plan(plan)))},
                          {iteration_ends(plan)},
                          {significant(plan.at("tokens_per_s").get<double>(), 4)},
                          {gigabytes(plan.at("memory_bytes").get<double>())},
                          {signed_percent(plan.at("of_best").get<double>() - 1)}});
  }
  return table;
}

/// The best plan with one choice made otherwise, and the time that this costs.
Table changes_of(const json& plans) {
  Table table{"The best with one choice made otherwise",
              {{"change", Align::left}, {"iteration"}, {"memory"}, {"against the best"}},
              {},
              {}};
  for (const json& plan : plans) {
    table.rows.push_back({{plan.at("change").get<std::string>()},
                          {to_text(Seconds(time_of_plan(plan)))},
                          {gigabytes(plan.at("memory_bytes").get<double>())},
                          {signed_percent(plan.at("of_best").get<double>() - 1)}});
  }
  return table;
}

std::vector<Section> sections_of(const json& answer) {
  std::vector<Section> sections{
      {"best", "The best plans", {choices_of(answer.at("best"), "The best plans")}}};
  if (!answer.at("neighbours").empty()) {
    sections.push_back(
        {"neighbours", "What another choice loses", {changes_of(answer.at("neighbours"))}});
  }
  sections.push_back({"front",
                      "Time against memory",
                      {choices_of(answer.at("memory_front"), "Plans of time and memory")}});
  if (const auto launch = answer.find("launch"); launch != answer.end() && launch->is_object()) {
    sections.push_back({"launch",
                        "Options of " + launch->at("framework").get<std::string>(),
                        {Items{launch->at("lines").get<std::vector<std::string>>()}}});
  }
  sections.push_back(notes_section(answer));
  return sections;
}

/// A warning where others are as good, as far as the model can say.
Badge badge_of_plan(const json& answer) {
  Badge badge = sheet_badge(answer, answer.at("best").at(0));
  const auto alike = answer.at("not_told_apart").get<long long>();
  if (alike > 0) {
    badge.reasons.pop_back();
    badge.reasons += fmt::format("; {} of {} other splits are as good within the interval.", alike,
                                 answer.at("splits").get<long long>() - 1);
  }
  return badge;
}

Page page_of_search(const json& answer) {
  Page page;
  page.kind = "plan";
  page.question =
      fmt::format("How should {} be trained on {}?", answer.at("network").get<std::string>(),
                  answer.at("cluster").get<std::string>());
  page.verdict = verdict_of_plan(answer.at("best").at(0));
  page.tiles = tiles_of_best(answer);
  page.data = badge_of_plan(answer);
  page.data_section = "notes";
  if (auto figure = memory_front(answer)) {
    page.picture = figure->name;
    page.figures.push_back(std::move(*figure));
  }
  page.sections = sections_of(answer);
  return page;
}

}  // namespace

AnswerPage parallel_plan_page(const std::string& text, const std::string& file) {
  return page_of_answer(text, file, "plans", [](const json& answer) {
    AnswerPage made{page_of_search(answer), {}};
    const json& best = answer.at("best");
    made.document.tables = {choices_of(best, "The best plans")};
    made.document.records = records_of_objects({best.begin(), best.end()}, {"gpus", "plan"},
                                               {"t_iter_s", "tokens_per_s", "memory_bytes"});
    return made;
  });
}

}  // namespace dlscale::report
