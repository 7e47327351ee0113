#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/units.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/answers/parallel_page.hpp"
#include "report/answers/parallel_words.hpp"
#include "report/figure/pareto.hpp"
#include "report/table/run_words.hpp"

namespace dlscale::report {
namespace {

double time_of_plan(const Json& plan) {
  return plan.at("t_iter_s").get<double>();
}

/// ", at a cost of 96,231": the price of a whole training; empty without one.
std::string price_text(const Json& training) {
  const auto price = number_in(training, "price");
  return price ? ", at a cost of " + grouped(std::llround(*price)) : "";
}

/// The time and price of the whole training by the best plan; empty if only iterations were asked
/// for.
std::string training_sentence(const Json& answer) {
  const auto trainings = answer.find("trainings");
  if (trainings == answer.end() || trainings->empty()) return "";
  const Json& best = trainings->at(0);
  const auto days = [&best](const char* key) {
    return significant(best.at(key).get<double>() / 86400, 3);
  };
  return fmt::format(" The whole training takes {} days (90 % interval {} to {} days){}.",
                     days("with_failures_s"), days("with_failures_low_s"),
                     days("with_failures_high_s"), price_text(best));
}

std::string verdict_of_plan(const Json& answer) {
  const Json& best = answer.at("best").at(0);
  return fmt::format(
      "Best by {} on {} with {} is {}: an iteration takes {}, {} tokens/s.{}",
      answer.at("objective").get<std::string>(), counted(best.at("gpus").get<long long>(), "GPU"),
      best.at("framework").get<std::string>(), plan_words(best), iteration_text(best),
      rate_text(best.at("tokens_per_s").get<double>()), training_sentence(answer));
}

std::vector<Tile> tiles_of_best(const Json& answer) {
  const Json& best = answer.at("best").at(0);
  return {{"Iteration", to_text(Seconds(time_of_plan(best))), iteration_detail(best), Tone::plain},
          {"Throughput", rate_text(best.at("tokens_per_s").get<double>()) + " tokens/s",
           fmt::format("{} sequences an iteration", answer.at("global_batch").dump()), Tone::plain},
          {"FLOP utilisation", percent(best.at("flop_utilisation").get<double>()),
           best.at("framework").get<std::string>(), Tone::plain},
          {"Memory of a rank", gigabytes(best.at("memory_bytes").get<double>()),
           fmt::format("at most {}", gigabytes(best.at("memory_high_bytes").get<double>())),
           Tone::plain},
          {"Plans timed", grouped(answer.at("timed").get<long long>()),
           grouped(answer.at("not_fitting").get<long long>()) + " more do not fit", Tone::plain}};
}

/// "tensor=2": the keys of a plan and their values, with its framework.
std::vector<std::string> settings_of(const Json& plan) {
  std::vector<std::string> settings;
  std::istringstream text(plan_text(plan) +
                          ",framework=" + plan.at("framework").get<std::string>());
  for (std::string setting; std::getline(text, setting, ',');) settings.push_back(setting);
  return settings;
}

/// The plans by the settings in which they differ from each other; keys of most values come first,
/// so that names that a figure cuts stay distinct.
std::vector<std::string> names_by_difference(const std::vector<Json>& plans) {
  std::map<std::string, std::size_t> plans_with;
  std::map<std::string, std::set<std::string>> values;
  for (const Json& plan : plans) {
    for (const std::string& setting : settings_of(plan)) {
      ++plans_with[setting];
      values[setting.substr(0, setting.find('='))].insert(setting);
    }
  }
  const auto rank = [&values](const std::string& setting) {
    return values.at(setting.substr(0, setting.find('='))).size();
  };
  std::vector<std::string> names;
  for (const Json& plan : plans) {
    std::vector<std::string> settings = settings_of(plan);
    std::erase_if(settings, [&](const std::string& setting) {
      return plans_with.at(setting) == plans.size();
    });
    std::ranges::stable_sort(settings, std::greater{}, rank);
    names.push_back(settings.empty() ? plan_text(plan)
                                     : fmt::format("{}", fmt::join(settings, ", ")));
  }
  return names;
}

/// Time against memory, or against GPUs if their number was part of the search alone.
std::optional<Figure> front_of_plans(const Json& answer) {
  const bool by_gpus = answer.at("memory_front").size() < 2 && answer.at("gpu_front").size() > 1;
  std::vector<Json> plans;
  const auto add = [&plans](const Json& list) {
    for (const Json& plan : list) {
      const bool is_known = std::ranges::any_of(
          plans, [&plan](const Json& other) { return settings_of(other) == settings_of(plan); });
      if (!is_known) plans.push_back(plan);
    }
  };
  add(answer.at(by_gpus ? "gpu_front" : "memory_front"));
  const std::size_t front = plans.size();
  add(Json::array({answer.at("best").at(0)}));
  if (!by_gpus) add(answer.at("neighbours"));
  const std::vector<std::string> names = names_by_difference(plans);
  const std::vector<std::string> best = settings_of(answer.at("best").at(0));
  std::vector<figure::ParetoPoint> points;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const double y = by_gpus ? plans[i].at("gpus").get<double>()
                             : 1e-9 * plans[i].at("memory_bytes").get<double>();
    points.push_back({names[i], time_of_plan(plans[i]), y, settings_of(plans[i]) == best, i < front,
                      number_in(plans[i], "t_iter_low_s"), number_in(plans[i], "t_iter_high_s")});
  }
  return figure::pareto_front(points, {"iteration, s", by_gpus ? "GPUs" : "memory of a rank, GB"});
}

Table choices_of(const Json& plans, std::string title) {
  Table table{std::move(title),
              {{"plan", Align::left},
               {"framework", Align::left},
               {"GPUs"},
               {"iteration"},
               {"90 % interval"},
               {"tokens/s"},
               {"memory"},
               {"against the best"}},
              {},
              {}};
  for (const Json& plan : plans) {
    table.rows.push_back({{plan_text(plan)},
                          {plan.at("framework").get<std::string>()},
                          {plan.at("gpus").dump()},
                          {to_text(Seconds(time_of_plan(plan)))},
                          {iteration_ends(plan)},
                          {rate_text(plan.at("tokens_per_s").get<double>())},
                          {gigabytes(plan.at("memory_bytes").get<double>())},
                          {signed_percent(plan.at("of_best").get<double>() - 1)}});
  }
  return table;
}

std::vector<ChangedPlan> changed_plans(const Json& plans) {
  std::vector<ChangedPlan> changed;
  for (const Json& plan : plans) {
    changed.push_back({plan.at("change").get<std::string>(),
                       to_text(Seconds(time_of_plan(plan))),
                       plan.at("of_best").get<double>(),
                       {gigabytes(plan.at("memory_bytes").get<double>())}});
  }
  return changed;
}

std::vector<Section> sections_of(const Json& answer) {
  std::vector<Section> sections{
      {"best", "The best plans", {choices_of(answer.at("best"), "The best plans")}}};
  if (!answer.at("neighbours").empty()) {
    sections.push_back(
        changes_section(changed_plans(answer.at("neighbours")), {"iteration", "memory"}));
  }
  for (const auto& [key, id, title] : {std::tuple{"memory_front", "memory", "Time against memory"},
                                       {"gpu_front", "gpus", "Time against GPUs"},
                                       {"energy_front", "energy", "Time against energy"}}) {
    if (answer.at(key).size() < 2) continue;
    sections.push_back({id, title, {choices_of(answer.at(key), title)}});
  }
  if (const auto launch = answer.find("launch"); launch != answer.end() && launch->is_object()) {
    sections.push_back({"launch",
                        "Options of " + launch->at("framework").get<std::string>(),
                        {Items{launch->at("lines").get<std::vector<std::string>>()}}});
  }
  sections.push_back(notes_section(answer));
  return sections;
}

/// A warning where others are as good, as far as the model can say.
Badge badge_of_plan(const Json& answer) {
  Badge badge = sheet_badge(answer, answer.at("best").at(0));
  const auto alike = answer.at("not_told_apart").get<long long>();
  if (alike > 0) {
    badge.reasons.pop_back();
    badge.reasons += fmt::format("; {} of {} other splits are as good within the interval.", alike,
                                 answer.at("splits").get<long long>() - 1);
  }
  return badge;
}

Page page_of_search(const Json& answer) {
  Page page = parallel_plan_opening(answer);
  page.data = badge_of_plan(answer);
  page.data_section = "notes";
  if (auto figure = front_of_plans(answer)) {
    page.picture = figure->name;
    page.figures.push_back(std::move(*figure));
  }
  page.sections = sections_of(answer);
  return page;
}

}  // namespace

Page parallel_plan_opening(const Json& answer) {
  Page page;
  page.kind = "plan";
  page.question =
      fmt::format("How should {} be trained on {}?", answer.at("network").get<std::string>(),
                  answer.at("cluster").get<std::string>());
  page.verdict = verdict_of_plan(answer);
  page.tiles = tiles_of_best(answer);
  return page;
}

AnswerPage parallel_plan_page(const std::string& text, const std::string& file) {
  return page_of_answer(text, file, "plans", [](const Json& answer) {
    AnswerPage made{page_of_search(answer), {}};
    const Json& best = answer.at("best");
    made.document.tables = {choices_of(best, "The best plans")};
    made.document.records = records_of_objects({best.begin(), best.end()}, {"gpus", "plan"},
                                               {"t_iter_s", "tokens_per_s", "memory_bytes"});
    return made;
  });
}

}  // namespace dlscale::report
