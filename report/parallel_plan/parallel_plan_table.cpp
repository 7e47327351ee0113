#include "report/parallel_plan/parallel_plan_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/text/numbers.hpp"
#include "report/goodput/training_cost_fields.hpp"
#include "report/parallel_plan/launch_options.hpp"
#include "report/parallel_plan/plan_rows.hpp"

namespace dlscale::report {
namespace {

using model::goodput::TrainingCost;
using model::parallel_search::Fit;
using model::parallel_search::FoundPlan;
using model::parallel_search::Objective;
using model::parallel_search::PlanSearch;
using parallel::ParallelPlan;

Fields<PlanRow> fields_of(const PlanSearch& search, const std::vector<PlanRow>& rows) {
  return row_fields(rows, search.question.objective == Objective::energy);
}

Table best_table(const ParallelPlanAnswer& answer) {
  const std::vector<PlanRow> rows = rows_of(answer.search, answer.search.best, "best");
  Table table = table_of(fields_of(answer.search, rows), rows);
  table.title = fmt::format("{} on {}, global batch {}: the best plan of each split of the GPUs",
                            answer.network, answer.search.cluster,
                            answer.search.question.training.global_batch);
  for (const std::string& note : answer.notes) table.notes.push_back(note);
  return table;
}

Table neighbour_table(const PlanSearch& search) {
  const std::vector<PlanRow> rows = neighbour_rows(search);
  const Fields<PlanRow> all = fields_of(search, rows);
  const auto plan = [](const PlanRow& row) { return typed_plan(row.plan()); };
  Fields<PlanRow> shown{Field<PlanRow>::table("change", &PlanRow::change, as::words)};
  constexpr std::array<std::pair<std::string_view, int>, 6> kept{{{"of_best", 0},
                                                                  {"t_iter_s", 0},
                                                                  {"tokens_per_s", 1},
                                                                  {"flop_utilisation", 2},
                                                                  {"energy_j", 0},
                                                                  {"memory_free_bytes", 0}}};
  for (const auto& [key, spare] : kept) {
    shown.push_back(*std::ranges::find(all, key, &Field<PlanRow>::key));
    shown.back().spare = spare;
  }
  shown.push_back(Field<PlanRow>::table("plan", plan, as::words));
  shown.back().spare = 3;  // it is long
  Table table = table_of(shown, rows);
  table.title = "The best with one choice made otherwise, the others chosen anew";
  return table;
}

Table front_table(const PlanSearch& search, const std::vector<FoundPlan>& front,
                  std::string title) {
  const std::vector<PlanRow> rows = rows_of(search, front, "front");
  Table table = table_of(fields_of(search, rows), rows);
  table.title = std::move(title);
  return table;
}

/// The plan of a row and its whole training.
struct TrainingRow {
  PlanRow row;
  TrainingCost cost;
};

std::vector<TrainingCost> costs_of(const std::vector<FoundPlan>& plans) {
  std::vector<TrainingCost> costs;
  for (const FoundPlan& plan : plans) costs.push_back(plan.whole.value());
  return costs;
}

/// Plans whose whole training is shown: those of each number of GPUs, else the best ones.
const std::vector<FoundPlan>& trained(const PlanSearch& search) {
  return search.gpu_front.empty() ? search.best : search.gpu_front;
}

std::vector<TrainingRow> training_rows(const PlanSearch& search,
                                       const std::vector<FoundPlan>& plans) {
  std::vector<TrainingRow> rows;
  for (const FoundPlan& plan : plans) {
    rows.push_back({row_of(search, plan, "training"), plan.whole.value()});
  }
  return rows;
}

Fields<TrainingRow> training_fields(const PlanSearch& search, const std::vector<FoundPlan>& plans) {
  const std::vector<TrainingCost> costs = costs_of(plans);
  const Fields<PlanRow> splits = split_fields(rows_of(search, plans, "training"));
  Fields<TrainingRow> fields =
      joined<TrainingRow>({part_of<TrainingRow>(splits, &TrainingRow::row),
                           part_of<TrainingRow>(training_cost_fields(costs), &TrainingRow::cost)});
  may_leave_out({"90 % interval", "experts", "data", "useful", "failures", "checkpoint min",
                 "without failures", "90 % of price", "90 % of MWh"},
                fields);
  return fields;
}

Table training_table(const PlanSearch& search) {
  const std::vector<FoundPlan>& plans = trained(search);
  Table table = table_of(training_fields(search, plans), training_rows(search, plans));
  table.title = fmt::format("A whole training of {} tokens, with failures",
                            amount_text(search.question.whole->tokens));
  table.notes = training_cost_notes(costs_of(plans));
  return table;
}

LaunchSizes launch_sizes(const ParallelPlanAnswer& answer) {
  const PlanSearch& search = answer.search;
  const model::parallel_time::ParallelQuestion& training = search.question.training;
  const model::parallel_time::AnsweredPlan& best = search.best.front().answered;
  const model::parallel_time::Family& family = *best.setting.family;
  return {.layers = training.shape.layers,
          .global_batch = training.global_batch,
          .sequence = training.shape.sequence,
          .dtype = answer.dtype,
          .hides_gradients = !family.one_queue,
          .hides_gathers =
              !family.one_queue && family.gathers_under_forward(best.answer.sizes.compiled),
          .overlaps_tensor = overlaps_tensor(family, best.answer.plan),
          .hides_experts = family.overlaps,
          .compiled = best.answer.sizes.compiled};
}

Table launch_table(const ParallelPlanAnswer& answer) {
  Table table;
  table.title = fmt::format("The best plan in the words of {}", answer.launch->title);
  table.columns = {{"launch options", Align::left}};
  for (const std::string& line : launch_options(
           *answer.launch, answer.search.best.front().answered.answer.plan, launch_sizes(answer))) {
    table.rows.push_back(std::vector<Cell>{Cell{line}});
  }
  return table;
}

Table records(const ParallelPlanAnswer& answer) {
  using enum Meaning;
  const PlanSearch& search = answer.search;
  std::vector<PlanRow> rows = rows_of(search, search.best, "best");
  const auto add = [&](std::vector<PlanRow> more) {
    rows.insert(rows.end(), more.begin(), more.end());
  };
  add(neighbour_rows(search));
  add(rows_of(search, search.memory_front, "memory"));
  add(rows_of(search, search.gpu_front, "gpus"));
  add(rows_of(search, search.energy_front, "energy"));
  const auto network = [name = answer.network](const PlanRow&) { return name; };
  const auto cluster = [name = search.cluster](const PlanRow&) { return name; };
  return records_of(joined<PlanRow>({{{"part", key, &PlanRow::part},
                                      {"change", key, &PlanRow::change},
                                      {"network", key, network},
                                      {"cluster", key, cluster}},
                                     fields_of(search, rows)}),
                    rows);
}

Json plan_object(const ParallelPlanAnswer& answer) {
  const PlanSearch& search = answer.search;
  const auto list = [&](const std::vector<FoundPlan>& plans, const char* part) {
    const std::vector<PlanRow> rows = rows_of(search, plans, part);
    return list_of(fields_of(search, rows), rows);
  };
  const std::vector<PlanRow> neighbours = neighbour_rows(search);
  const Fields<PlanRow> neighbour_fields = joined<PlanRow>(
      {{{"change", Meaning::key, &PlanRow::change}}, fields_of(search, neighbours)});
  std::vector<std::string> frameworks;
  for (const auto& framework : search.question.frameworks) frameworks.push_back(framework.name);
  Json object{
      {"network", answer.network},
      {"cluster", search.cluster},
      {"frameworks", frameworks},
      {"global_batch", search.question.training.global_batch},
      {"objective", model::parallel_search::objective_name(search.question.objective)},
      {"fits", search.question.fit == Fit::surely ? "surely" : "likely"},
      {"timed", search.timed},
      {"not_fitting", search.missed},
      {"over_limits", search.exceeded},
      {"splits", search.splits},
      {"close_splits", search.close},
      {"close_share", model::parallel_search::close_share},
      {"unfit_gpus", search.unfit},
      {"best", list(search.best, "best")},
      {"neighbours", list_of(neighbour_fields, neighbours)},
      {"memory_front", list(search.memory_front, "memory")},
      {"gpu_front", list(search.gpu_front, "gpus")},
      {"energy_front", list(search.energy_front, "energy")},
      {"notes", answer.notes},
  };
  if (search.question.whole) {
    const std::vector<FoundPlan>& plans = trained(search);
    object["trainings"] = list_of(training_fields(search, plans), training_rows(search, plans));
  }
  if (answer.launch != nullptr) {
    object["launch"] = {
        {"framework", answer.launch->name},
        {"lines", launch_options(*answer.launch, search.best.front().answered.answer.plan,
                                 launch_sizes(answer))}};
  }
  return object;
}

/// "1, 2, 4", or how many numbers there are where they are many.
std::string numbers_text(const std::vector<int>& numbers) {
  constexpr std::size_t most_named = 8;
  if (numbers.size() <= most_named) return fmt::format("{}", fmt::join(numbers, ", "));
  return fmt::format("{} of the numbers, from {} to {}", numbers.size(), numbers.front(),
                     numbers.back());
}

std::string counts_text(const ParallelPlanAnswer& answer) {
  const PlanSearch& search = answer.search;
  std::string text =
      fmt::format("{} fit and were timed, and {} more do not fit",
                  counted(static_cast<long long>(search.timed), "plan"), search.missed);
  if (search.exceeded > 0) text += fmt::format("; {} exceed the limits", search.exceeded);
  return fmt::format("{}; the search took {:.2g} s", text, answer.search_s);
}

/// A note where the slow end of the best plan's interval exceeds a limit that the plan keeps to.
void add_slow_end(const PlanSearch& search, std::vector<std::string>& notes) {
  if (!search.question.whole) return;
  const TrainingCost& cost = search.best.front().whole.value();
  const model::parallel_search::WholeTraining& whole = *search.question.whole;
  if (whole.longest && cost.time_s.high > whole.longest->si()) {
    notes.push_back(
        fmt::format("the best plan may miss the time limit: at the slow end of its "
                    "interval it takes {}",
                    training_time_text(cost.time_s.high)));
  }
  if (whole.dearest && cost.price->high > *whole.dearest) {
    notes.push_back(
        fmt::format("the best plan may exceed the budget: at the dear end of its "
                    "interval it costs {:.0f}",
                    cost.price->high));
  }
}

std::vector<std::string> search_notes(const ParallelPlanAnswer& answer) {
  const PlanSearch& search = answer.search;
  std::vector<std::string> notes{counts_text(answer)};
  notes.emplace_back(search.question.fit == Fit::surely
                         ? "fits: the high end of memory is at most what a process can allocate"
                         : "fits: the prediction of memory, not its high end, is at most what a "
                           "process can allocate");
  if (!search.unfit.empty()) {
    notes.push_back(fmt::format(
        "no plan fits{} on {} {}", search.exceeded > 0 ? " and keeps to the limits" : "",
        numbers_text(search.unfit), search.unfit == std::vector{1} ? "GPU" : "GPUs"));
  }
  add_slow_end(search, notes);
  notes.push_back(
      fmt::format("sp: sequence_parallel; ×: chunks; GB: of the rank that needs most; GB free: at "
                  "its high end; "
                  "more: {} over the best",
                  model::parallel_search::objective_name(search.question.objective)));
  return notes;
}

}  // namespace

Document parallel_plan_document(const ParallelPlanAnswer& answer) {
  const PlanSearch& search = answer.search;
  EXPECT(!search.best.empty());
  Document document;
  document.tables.push_back(best_table(answer));
  for (std::string& note : search_notes(answer)) {
    document.tables.front().notes.push_back(std::move(note));
  }
  if (!search.neighbours.empty()) document.tables.push_back(neighbour_table(search));
  if (search.memory_front.size() > 1) {
    document.tables.push_back(front_table(search, search.memory_front,
                                          "Time against memory: nothing is quicker and smaller"));
  }
  if (!search.gpu_front.empty()) {
    document.tables.push_back(
        front_table(search, search.gpu_front, "Time against GPUs: no fewer GPUs are as quick"));
  }
  if (search.energy_front.size() > 1) {
    document.tables.push_back(front_table(search, search.energy_front,
                                          "Time against energy: nothing is quicker with less"));
  }
  if (search.question.whole) document.tables.push_back(training_table(search));
  if (answer.launch != nullptr) document.tables.push_back(launch_table(answer));
  document.records = records(answer);
  document.json = json_answer("dlscale.parallel_plan", [answer] { return plan_object(answer); });
  return document;
}

std::string nothing_found_text(const ParallelPlanAnswer& answer) {
  const PlanSearch& search = answer.search;
  if (search.nearest_limit) {
    const FoundPlan& nearest = search.nearest_limit->plan;
    const TrainingCost& cost = nearest.whole.value();
    return fmt::format(
        "No plan that fits keeps to the limits: the nearest, {} on {}, takes {}{}, {} more.",
        typed_plan(nearest.answered.answer.plan), counted(nearest.gpus, "GPU"),
        training_time_text(cost.time_s.value),
        cost.price ? fmt::format(" and costs {:.0f}", cost.price->value) : "",
        percent(search.nearest_limit->excess));
  }
  EXPECT(search.nearest_fit);
  const FoundPlan& nearest = search.nearest_fit->plan;
  const bool is_sure = search.question.fit == Fit::surely;
  return fmt::format("No plan {} fits {} GB on {}: the nearest, {}, needs {} GB more{}.",
                     is_sure ? "surely" : "likely", gb(nearest.answered.hardware.memory),
                     counted(nearest.gpus, "GPU"), typed_plan(nearest.answered.answer.plan),
                     gb(search.nearest_fit->excess),
                     is_sure ? " at the high end of its memory" : "");
}

}  // namespace dlscale::report
