#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
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

std::vector<Tile> tiles_of_best(const Json& answer) {
  const Json& best = answer.at("best").at(0);
  return {{"Iteration", to_text(Seconds(time_of_plan(best))), iteration_detail(best), Tone::plain},
          {"Throughput", rate_text(best.at("tokens_per_s").get<double>()) + " tokens/s",
           fmt::format("{} sequences an iteration", answer.at("global_batch").dump()), Tone::plain},
          {"FLOP utilisation", percent(best.at("flop_utilisation").get<double>()),
           "of the peak of all GPUs", Tone::plain},
          {"Memory of a rank", gigabytes(best.at("memory_bytes").get<double>()),
           fmt::format("at most {}", gigabytes(best.at("memory_high_bytes").get<double>())),
           Tone::plain},
          {"Plans timed", grouped(answer.at("timed").get<long long>()),
           grouped(answer.at("not_fitting").get<long long>()) + " more do not fit", Tone::plain}};
}

/// "tensor=2": the keys of a plan and their values, with its framework and GPUs.
std::vector<std::string> settings_of(const Json& plan) {
  std::vector<std::string> settings;
  std::istringstream text(plan_text(plan) +
                          ",framework=" + plan.at("framework").get<std::string>() +
                          ",gpus=" + plan.at("gpus").dump());
  for (std::string setting; std::getline(text, setting, ',');) settings.push_back(setting);
  return settings;
}

/// Names plans by the settings in which they differ from each other: "tensor 2, stages 2 × 10,
/// selective", where a stage has 10 chunks.
class ShortPlanNames {
 public:
  explicit ShortPlanNames(const std::vector<Json>& plans) {
    std::map<std::string, std::size_t> plans_with;
    for (const Json& plan : plans) {
      for (const std::string& one : settings_of(plan)) ++plans_with[one];
    }
    for (const auto& [one, count] : plans_with) {
      if (count < plans.size()) differing_.insert(key_of(one));
    }
    differing_.erase("data");  // GPUs over the other degrees
    if (differing_.contains("chunks")) differing_.erase("schedule");
    leave_out_details(plans);
  }
  /// `chunks`: the words between a number of stages and their chunks.
  std::string operator()(const Json& plan, const char* chunks = " × ") const {
    const std::string words = differences(plan, chunks);
    if (!words.empty()) return words;
    return differing_.contains("recompute") ? "no recomputation" : plan_words(plan);
  }

 private:
  [[nodiscard]] std::string differences(const Json& plan, const char* chunks) const {
    std::vector<std::string> words;
    std::string chunks_of;  // the key before, whose words get the chunks
    for (const std::string& one : settings_of(plan)) {
      const std::string key = key_of(one);
      const std::string value = one.substr(one.find('=') + 1);
      if (!differing_.contains(key)) continue;
      if (key == "chunks" && chunks_of == "stages") {
        words.back() += chunks + value;
      } else {
        words.push_back(word_of(key) + value);
      }
      chunks_of = key;
    }
    return fmt::format("{}", fmt::join(words, ", "));
  }
  /// Leaves out lesser settings as long as the names stay distinct.
  void leave_out_details(const std::vector<Json>& plans) {
    const auto names = [&] {
      std::set<std::string> all;
      for (const Json& plan : plans) all.insert(differences(plan, " × "));
      return all.size() - all.count("");
    };
    const std::size_t distinct = names();
    for (const char* key : {"sequence_parallel", "tensor_overlap", "compile", "zero_group", "zero",
                            "micro_batch", "schedule"}) {
      if (differing_.erase(key) > 0 && names() < distinct) differing_.insert(key);
    }
  }
  static std::string key_of(const std::string& one) { return one.substr(0, one.find('=')); }
  static std::string word_of(const std::string& key) {
    constexpr std::array<std::string_view, 4> as_they_are{"tensor", "context", "stages", "experts"};
    constexpr std::array<std::string_view, 3> by_value{"recompute", "schedule", "framework"};
    if (std::ranges::find(as_they_are, key) != as_they_are.end()) return key + " ";
    if (std::ranges::find(by_value, key) != by_value.end()) return "";
    if (key == "zero") return "ZeRO ";
    return key == "gpus" ? "GPUs " : key + "=";
  }
  std::set<std::string> differing_;
};

/// Says how many splits the interval cannot tell from the best, and which to take of them.
std::string alike_sentences(const Json& answer) {
  const auto alike = answer.at("not_told_apart").get<long long>();
  const auto others = answer.at("splits").get<long long>() - 1;
  if (others == 0) return "";
  if (alike == 0) return " No other split of the GPUs is as fast within that interval.";
  std::string text =
      fmt::format(" {} of {} other splits of the GPUs {} as fast within that interval", alike,
                  others, alike == 1 ? "is" : "are");
  const Json* leanest = leanest_alike(answer);
  if (leanest == nullptr) return text + ".";
  const Json& best = answer.at("best").at(0);
  const std::vector<Json> both{best, *leanest};
  return fmt::format("{}; of all plans as fast, {} needs least memory: {} in place of {}.", text,
                     ShortPlanNames(both)(*leanest, ", chunks "),
                     gigabytes(leanest->at("memory_bytes").get<double>()),
                     gigabytes(best.at("memory_bytes").get<double>()));
}

std::string verdict_of_plan(const Json& answer) {
  const Json& best = answer.at("best").at(0);
  return fmt::format("Best by {} on {} with {} is {}: an iteration takes {}, {} tokens/s.{}{}",
                     answer.at("objective").get<std::string>(),
                     counted(best.at("gpus").get<long long>(), "GPU"),
                     best.at("framework").get<std::string>(), plan_words(best),
                     iteration_text(best), rate_text(best.at("tokens_per_s").get<double>()),
                     alike_sentences(answer), training_sentence(answer));
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
  const ShortPlanNames label(plans);
  if (!by_gpus) add(answer.at("neighbours"));
  const ShortPlanNames name(plans);
  bool has_chunks = false;
  const std::vector<std::string> best = settings_of(answer.at("best").at(0));
  std::vector<figure::ParetoPoint> points;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const double y = by_gpus ? plans[i].at("gpus").get<double>()
                             : 1e-9 * plans[i].at("memory_bytes").get<double>();
    points.push_back({name(plans[i]), label(plans[i]), time_of_plan(plans[i]), y,
                      settings_of(plans[i]) == best, i < front, number_in(plans[i], "t_iter_low_s"),
                      number_in(plans[i], "t_iter_high_s")});
    has_chunks = has_chunks || points.back().label.find("×") != std::string::npos;
  }
  return figure::pareto_front(points, {"iteration, s", by_gpus ? "GPUs" : "memory of a rank, GB",
                                       has_chunks ? "×: chunks of a stage" : ""});
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

Page page_of_search(const Json& answer) {
  Page page = parallel_plan_opening(answer);
  page.data = sheet_badge(answer, answer.at("best").at(0));
  page.data_section = "notes";
  if (auto figure = front_of_plans(answer)) {
    page.picture = figure->name;
    page.figures.push_back(std::move(*figure));
  }
  page.sections = sections_of(answer);
  return page;
}

}  // namespace

const Json* leanest_alike(const Json& answer) {
  const Json& best = answer.at("best").at(0);
  const auto high = number_in(best, "t_iter_high_s");
  const auto memory = [](const Json& plan) { return plan.at("memory_bytes").get<double>(); };
  const Json* leanest = &best;
  for (const Json& plan : answer.at("memory_front")) {
    const bool is_alike = high && time_of_plan(plan) <= *high;
    if (is_alike && memory(plan) < memory(*leanest)) leanest = &plan;
  }
  return leanest == &best ? nullptr : leanest;
}

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
