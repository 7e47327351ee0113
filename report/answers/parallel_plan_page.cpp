#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/units.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/answers/parallel_page.hpp"
#include "report/answers/parallel_words.hpp"
#include "report/answers/plan_names.hpp"
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
/// for, or only trainings by other plans are stated.
std::string training_clause(const Json& answer) {
  const auto trainings = answer.find("trainings");
  if (trainings == answer.end()) return "";
  const Json& best = answer.at("best").at(0);
  const auto is_of_best = [&best](const Json& training) {
    return training.at("plan") == best.at("plan") && training.at("gpus") == best.at("gpus") &&
           training.at("framework") == best.at("framework");
  };
  const auto training = std::find_if(trainings->begin(), trainings->end(), is_of_best);
  if (training == trainings->end()) return "";
  constexpr double day = 86400;
  const bool is_short = training->at("with_failures_s").get<double>() < 2 * day;
  const char* const unit = is_short ? "h" : "days";
  const auto time = [&](const char* key) {
    return significant(training->at(key).get<double>() / (is_short ? day / 24 : day), 3);
  };
  return fmt::format("the whole training takes {} {} (90 % interval {} to {} {}){}",
                     time("with_failures_s"), unit, time("with_failures_low_s"),
                     time("with_failures_high_s"), unit, price_text(*training));
}

/// How many other splits are close to the best, and how many plans were compared.
Tile splits_tile(const Json& answer) {
  return {"Other splits within " + close_text(answer),
          fmt::format("{} of {}", answer.at("close_splits").dump(),
                      answer.at("splits").get<long long>() - 1),
          fmt::format("{} plans timed; {} more do not fit",
                      grouped(answer.at("timed").get<long long>()),
                      grouped(answer.at("not_fitting").get<long long>())),
          Tone::plain};
}

/// "at most 39.1 GB (90 %) of 42.9 GB (40.0 GiB)".
std::string memory_detail(const Json& plan) {
  const double most = plan.at("memory_high_bytes").get<double>();
  const auto free = number_in(plan, "memory_free_bytes");
  return fmt::format("at most {} (90 %){}", gigabytes(most),
                     free ? " of " + device_memory_text(most + *free) : "");
}

std::vector<Tile> tiles_of_best(const Json& answer) {
  const Json& best = answer.at("best").at(0);
  return {{fmt::format("Iteration of {} sequences", answer.at("global_batch").dump()),
           to_text(Seconds(time_of_plan(best))), iteration_detail(best), Tone::plain},
          {"Throughput", rate_text(best.at("tokens_per_s").get<double>()) + " tokens/s",
           rate_detail(best, "tokens_per_s", rate_text), Tone::plain},
          {"FLOP utilisation", percent(best.at("flop_utilisation").get<double>()),
           rate_detail(best, "flop_utilisation", percent), Tone::plain},
          {"Memory of a rank", gigabytes(best.at("memory_bytes").get<double>()),
           memory_detail(best), Tone::plain},
          splits_tile(answer)};
}

/// The settings of a plan, with its framework and GPUs.
std::vector<PlanSetting> all_settings(const Json& plan) {
  std::vector<PlanSetting> settings = settings_of(plan);
  settings.push_back({"framework", plan.at("framework").get<std::string>()});
  settings.push_back({"gpus", plan.at("gpus").dump()});
  return settings;
}

/// Names plans by the settings in which they differ from each other: "tensor 2, stages 2 × 10,
/// selective", where a stage has 10 chunks; in prose "stages 2 × 10 chunks".
class DifferingNames {
 public:
  explicit DifferingNames(const std::vector<Json>& plans, bool is_prose = false)
      : is_prose_(is_prose) {
    std::map<std::pair<std::string, std::string>, std::size_t> plans_with;
    for (const Json& plan : plans) {
      for (const PlanSetting& one : all_settings(plan)) ++plans_with[{one.key, one.value}];
    }
    for (const auto& [one, count] : plans_with) {
      if (count < plans.size()) differing_.insert(one.first);
    }
    differing_.erase("data");  // GPUs over the other degrees
    if (differing_.contains("chunks")) differing_.erase("schedule");
    leave_out_details(plans);
  }
  std::string operator()(const Json& plan) const {
    const std::string words = differences(plan);
    if (!words.empty()) return words;
    return differing_.contains("recompute") ? "no recomputation" : plan_words(plan);
  }

 private:
  [[nodiscard]] std::string differences(const Json& plan) const {
    return setting_words(all_settings(plan), differing_, is_prose_);
  }
  /// Leaves out lesser settings as long as the names stay distinct.
  void leave_out_details(const std::vector<Json>& plans) {
    const auto names = [&] {
      std::set<std::string> all;
      for (const Json& plan : plans) all.insert(differences(plan));
      return all.size() - all.count("");
    };
    const std::size_t distinct = names();
    for (const char* key : {"sequence_parallel", "tensor_overlap", "compile", "zero_group", "zero",
                            "micro_batch", "schedule"}) {
      if (differing_.erase(key) > 0 && names() < distinct) differing_.insert(key);
    }
  }
  std::set<std::string> differing_;
  bool is_prose_;
};

/// Each plan of these lists once.
std::vector<Json> distinct_plans(std::initializer_list<Json> lists) {
  std::vector<Json> plans;
  for (const Json& list : lists) {
    for (const Json& plan : list) {
      const bool is_known = std::ranges::any_of(
          plans, [&plan](const Json& other) { return all_settings(other) == all_settings(plan); });
      if (!is_known) plans.push_back(plan);
    }
  }
  return plans;
}

/// The plans whose points have labels: those of the front, and the best.
std::vector<Json> labelled_plans(const std::vector<Json>& plans,
                                 const std::vector<figure::ParetoPoint>& points) {
  std::vector<Json> labelled;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (points[i].front || points[i].best) labelled.push_back(plans[i]);
  }
  return labelled;
}

/// The plans of the picture and their points, whose labels are to be set.
struct PicturedPlans {
  std::vector<Json> plans = {};
  std::vector<figure::ParetoPoint> points = {};
  bool by_gpus = false;
};

PicturedPlans pictured_plans(const Json& answer) {
  const bool by_gpus = answer.at("memory_front").size() < 2 && answer.at("gpu_front").size() > 1;
  const Json& best = answer.at("best").at(0);
  PicturedPlans shown{
      distinct_plans({answer.at(by_gpus ? "gpu_front" : "memory_front"), Json::array({best}),
                      by_gpus ? Json::array() : answer.at("neighbours")}),
      {},
      by_gpus};
  const DifferingNames name(shown.plans);
  for (const Json& plan : shown.plans) {
    const double y =
        by_gpus ? plan.at("gpus").get<double>() : 1e-9 * plan.at("memory_bytes").get<double>();
    shown.points.push_back({name(plan), "", time_of_plan(plan), y,
                            all_settings(plan) == all_settings(best), true,
                            number_in(plan, "t_iter_low_s"), number_in(plan, "t_iter_high_s")});
  }
  figure::mark_front(shown.points);  // the search states some, and neighbours are others
  return shown;
}

/// Time against memory, or against GPUs if their number was part of the search alone.
std::optional<Figure> front_of_plans(const Json& answer) {
  auto [plans, points, by_gpus] = pictured_plans(answer);
  const DifferingNames label(labelled_plans(plans, points));
  bool has_chunks = false;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    points[i].label = label(plans[i]);
    has_chunks = has_chunks || points[i].label.find("×") != std::string::npos;
  }
  return figure::pareto_front(points, {"iteration, s", by_gpus ? "GPUs" : "memory of a rank, GB",
                                       has_chunks ? "stages S × C: C chunks each" : ""});
}

/// "its time": what the search makes least.
const char* objective_words(const Json& answer) {
  const Json& objective = answer.at("objective");
  if (objective == "time") return "its time";
  return objective == "cost" ? "its GPU hours" : "its energy";
}

/// Names the leanest plan that is close to the best as the picture does, or says that no other
/// split is close; empty where others are, which a tile counts.
std::string close_sentence(const Json& answer) {
  const std::string within =
      fmt::format("within {} of {}", close_text(answer), objective_words(answer));
  const Json* leanest = leanest_close(answer);
  if (leanest == nullptr) {
    const bool is_alone = answer.at("close_splits") == 0 && answer.at("splits") != 1;
    return is_alone ? fmt::format(" No other split of the GPUs is {}.", within) : "";
  }
  const PicturedPlans shown = pictured_plans(answer);
  const DifferingNames name(labelled_plans(shown.plans, shown.points), true);
  return fmt::format(" W{}, with {} of memory in place of {}: {} ({}).", within.substr(1),
                     gigabytes(leanest->at("memory_bytes").get<double>()),
                     gigabytes(answer.at("best").at(0).at("memory_bytes").get<double>()),
                     name(*leanest), to_text(Seconds(time_of_plan(*leanest))));
}

std::string superlative_of(const Json& answer) {
  const Json& objective = answer.at("objective");
  if (objective == "time") return "Fastest";
  return objective == "cost" ? "Fewest GPU hours" : "Least energy";
}

std::string verdict_of_plan(const Json& answer) {
  const Json& best = answer.at("best").at(0);
  const std::string training = training_clause(answer);
  return fmt::format("{} on {} with {}: {}; {}.{}", superlative_of(answer),
                     counted(best.at("gpus").get<long long>(), "GPU"),
                     best.at("framework").get<std::string>(), PlanNames(Json::array({best}))(best),
                     training.empty() ? "an iteration takes " + iteration_text(best) : training,
                     close_sentence(answer));
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

const Json* leanest_close(const Json& answer) {
  const Json& best = answer.at("best").at(0);
  const double most = 1 + answer.at("close_share").get<double>();
  const auto memory = [](const Json& plan) { return plan.at("memory_bytes").get<double>(); };
  const Json* leanest = &best;
  for (const Json& plan : answer.at("memory_front")) {
    const bool is_close = plan.at("of_best").get<double>() <= most;
    if (is_close && memory(plan) < memory(*leanest)) leanest = &plan;
  }
  return leanest == &best ? nullptr : leanest;
}

std::string close_text(const Json& answer) {
  return fmt::format("{:.0f} %", 100 * answer.at("close_share").get<double>());
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
