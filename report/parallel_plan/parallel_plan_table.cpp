#include "report/parallel_plan/parallel_plan_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/parallel/plan_text.hpp"
#include "core/text/numbers.hpp"
#include "report/parallel_plan/launch_options.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {
namespace {

using model::parallel_search::Choice;
using model::parallel_search::Fit;
using model::parallel_search::FoundPlan;
using model::parallel_search::PlanNeighbour;
using model::parallel_search::PlanSearch;
using parallel::ParallelPlan;
using parallel::Recompute;

constexpr double giga_bytes = 1e9;

/// A plan of the answer beside the best one.
struct PlanRow {
  std::string part;  ///< of the answer, for records
  std::string change = {};
  FoundPlan found;
  double of_best = 1;  ///< score over that of the best plan
  double flop_share = 0;
  double tokens = 0;  ///< of an iteration
  double need = 0;    ///< bytes of the rank that needs most
  double need_high = 0;
  [[nodiscard]] const ParallelPlan& plan() const { return found.answered.answer.plan; }
  [[nodiscard]] double seconds() const { return found.answered.answer.seconds(); }
  [[nodiscard]] double low() const { return found.answered.answer.low(); }
  [[nodiscard]] double high() const { return found.answered.answer.high(); }
  [[nodiscard]] double device() const { return found.answered.hardware.memory; }
};

PlanRow row_of(const PlanSearch& search, const FoundPlan& found, std::string part,
               std::string change = {}) {
  using model::memory::MemoryCounter;
  const model::parallel_time::AnsweredPlan& answered = found.answered;
  const model::memory::RankMemory& memory = answered.answer.memory;
  const model::memory::MemoryEstimate peak =
      memory.peak(memory.worst(MemoryCounter::device).stage, MemoryCounter::device);
  const model::parallel_time::ParallelQuestion& training = search.question.training;
  PlanRow row{std::move(part), std::move(change), found};
  row.of_best = found.score / search.best.front().score;
  row.flop_share =
      model::parallel_time::flop_utilisation(training, answered.setting, answered.answer);
  row.tokens =
      static_cast<double>(training.global_batch) * static_cast<double>(training.shape.sequence);
  row.need = peak.bytes;
  row.need_high = peak.high;
  return row;
}

/// The plan as predict --parallel takes it; bytes of states are the framework's.
std::string typed_plan(const ParallelPlan& plan) {
  ParallelPlan typed = plan;
  typed.bytes = {};
  return parallel::to_text(typed);
}

std::string schedule_text(const ParallelPlan& plan) {
  if (plan.stages == 1) return "–";
  if (plan.chunks == 1) return plan.schedule;
  return fmt::format("{} × {}", plan.schedule, plan.chunks);
}

std::string zero_text(const ParallelPlan& plan) {
  if (!plan.zero_group) return std::to_string(plan.zero);
  return fmt::format("{} over {}", plan.zero, *plan.zero_group);
}

std::string recompute_text(const ParallelPlan& plan) {
  if (plan.recompute != Recompute::block)
    return std::string(parallel::recompute_name(plan.recompute));
  return fmt::format("{} of {}", parallel::recompute_name(plan.recompute), plan.recompute_layers);
}

std::string gb(double bytes) {
  return fmt::format("{:.1f}", bytes / giga_bytes);
}

std::string interval_text(const PlanRow& row) {
  return fmt::format("{} – {}", significant(row.low(), 3), significant(row.high(), 3));
}

std::string tensor_text(const ParallelPlan& plan) {
  return fmt::format("{}{}", plan.tensor, plan.sequence_parallel ? " sp" : "");
}

auto of_plan(auto what) {
  return [what](const PlanRow& row) { return std::invoke(what, row.plan()); };
}

/// How GPUs are split. Columns that are 1 in each row are for programs alone.
Fields<PlanRow> split_fields(const std::vector<PlanRow>& rows) {
  using enum Meaning;
  const auto any = [&](int ParallelPlan::*ranks) {
    return std::ranges::any_of(rows, [ranks](const PlanRow& row) { return row.plan().*ranks > 1; });
  };
  const auto gpus = [](const PlanRow& row) { return row.found.gpus; };
  const auto plan = [](const PlanRow& row) { return typed_plan(row.plan()); };
  const bool is_one = std::ranges::all_of(
      rows, [&](const PlanRow& row) { return row.found.gpus == rows.front().found.gpus; });
  Field<PlanRow> tensor{"tensor", key, of_plan(&ParallelPlan::tensor)};
  tensor.header = "tensor";
  tensor.cell = [](const PlanRow& row) { return tensor_text(row.plan()); };
  return {
      {"gpus", key, gpus, is_one ? "" : "GPUs", as::exact},
      {"plan", key, plan},
      tensor,
      {"sequence_parallel", key, of_plan(&ParallelPlan::sequence_parallel)},
      {"context", key, of_plan(&ParallelPlan::context),
       any(&ParallelPlan::context) ? "context" : "", as::exact},
      {"stages", key, of_plan(&ParallelPlan::stages), "stages", as::exact},
      {"data", key, of_plan(&ParallelPlan::data), "data", as::exact},
      {"experts", key, of_plan(&ParallelPlan::experts),
       any(&ParallelPlan::experts) ? "experts" : "", as::exact},
  };
}

Fields<PlanRow> rest_fields() {
  using F = Field<PlanRow>;
  using enum Meaning;
  const auto recompute = [](const ParallelPlan& plan) {
    return std::string(parallel::recompute_name(plan.recompute));
  };
  return {
      {"micro_batch", key, of_plan(&ParallelPlan::micro_batch), "micro-batch", as::exact},
      {"schedule", key, of_plan(&ParallelPlan::schedule), "schedule", of_plan(schedule_text),
       Align::left},
      {"chunks", key, of_plan(&ParallelPlan::chunks)},
      {"zero", key, of_plan(&ParallelPlan::zero), "ZeRO", of_plan(zero_text)},
      {"zero_group", key, of_plan(&ParallelPlan::zero_group)},
      {"recompute", key, of_plan(recompute), "recompute", of_plan(recompute_text), Align::left},
      {"recompute_layers", key, of_plan(&ParallelPlan::recompute_layers)},
      F::json("stage_layers", of_plan(&ParallelPlan::stage_layers)),
  };
}

Fields<PlanRow> outcome_fields() {
  using F = Field<PlanRow>;
  using enum Meaning;
  const auto rate = [](const PlanRow& row) { return row.tokens / row.seconds(); };
  const auto seconds_text = [](const PlanRow& row) { return significant(row.seconds(), 4); };
  const auto rate_text = [rate](const PlanRow& row) { return significant(rate(row), 4); };
  const auto need_text = [](const PlanRow& row) {
    return fmt::format("{} ({})", gb(row.need), gb(row.need_high));
  };
  const auto free = [](const PlanRow& row) { return row.device() - row.need_high; };
  const auto free_text = [free](const PlanRow& row) { return gb(free(row)); };
  const auto beside = [](const PlanRow& row) {
    return row.of_best == 1 ? std::string("–") : signed_percent(row.of_best - 1);
  };
  return {
      {"t_iter_s", value, &PlanRow::seconds, "iteration s", seconds_text},
      {"t_iter_low_s", value, &PlanRow::low},
      {"t_iter_high_s", value, &PlanRow::high},
      F::table("90 % interval", interval_text),
      {"tokens_per_s", value, rate, "tokens/s", rate_text},
      {"flop_utilisation", value, &PlanRow::flop_share, "of peak", as::percent},
      {"memory_bytes", value, &PlanRow::need, "GB (high end)", need_text},
      {"memory_high_bytes", value, &PlanRow::need_high},
      {"memory_free_bytes", value, free, "GB free", free_text},
      {"of_best", value, &PlanRow::of_best, "more", beside},
  };
}

/// Columns that tables leave out to fit, the first first.
Fields<PlanRow> with_spares(Fields<PlanRow> fields) {
  int rank = 5;
  for (const std::string_view heading :
       {"GB free", "of peak", "90 % interval", "recompute", "micro-batch"}) {
    const auto found = std::ranges::find(fields, heading, &Field<PlanRow>::header);
    if (found != fields.end()) found->spare = rank--;
  }
  return fields;
}

Fields<PlanRow> row_fields(const std::vector<PlanRow>& rows) {
  return with_spares(joined<PlanRow>({split_fields(rows), rest_fields(), outcome_fields()}));
}

std::vector<PlanRow> rows_of(const PlanSearch& search, const std::vector<FoundPlan>& plans,
                             const char* part) {
  std::vector<PlanRow> rows;
  for (const FoundPlan& plan : plans) rows.push_back(row_of(search, plan, part));
  return rows;
}

std::string value_text(Choice choice, const ParallelPlan& plan) {
  switch (choice) {
    case Choice::tensor:
      return std::to_string(plan.tensor);
    case Choice::context:
      return std::to_string(plan.context);
    case Choice::stages:
      return std::to_string(plan.stages);
    case Choice::data:
      return std::to_string(plan.data);
    case Choice::experts:
      return std::to_string(plan.experts);
    case Choice::micro_batch:
      return std::to_string(plan.micro_batch.value_or(1));
    case Choice::schedule:
      return plan.stages == 1 ? "one stage" : schedule_text(plan);
    case Choice::sequence_parallel:
      return plan.sequence_parallel ? "tokens cut (sp)" : "tokens not cut";
    case Choice::zero:
      return std::to_string(plan.zero);
    case Choice::zero_group:
      return plan.zero_group ? std::to_string(*plan.zero_group) : "all replicas";
    case Choice::recompute:
      return std::string(parallel::recompute_name(plan.recompute));
  }
  fail_expectation("every choice has its words");
}

std::string_view choice_text(Choice choice) {
  switch (choice) {
    case Choice::tensor:
      return "tensor ";
    case Choice::context:
      return "context ";
    case Choice::stages:
      return "stages ";
    case Choice::data:
      return "data ";
    case Choice::experts:
      return "experts ";
    case Choice::micro_batch:
      return "micro-batch ";
    case Choice::zero:
      return "ZeRO ";
    case Choice::zero_group:
      return "states shared by ";
    case Choice::recompute:
      return "recompute ";
    case Choice::schedule:
    case Choice::sequence_parallel:
      return "";
  }
  return "";  // every case is above
}

std::vector<PlanRow> neighbour_rows(const PlanSearch& search) {
  const ParallelPlan& best = search.best.front().answered.answer.plan;
  std::vector<PlanRow> rows;
  for (const PlanNeighbour& each : search.neighbours) {
    const ParallelPlan& plan = each.plan.answered.answer.plan;
    rows.push_back(
        row_of(search, each.plan, "neighbour",
               fmt::format("{}{} instead of {}", choice_text(each.choice),
                           value_text(each.choice, plan), value_text(each.choice, best))));
  }
  std::ranges::stable_sort(rows, {}, &PlanRow::of_best);
  return rows;
}

Table best_table(const ParallelPlanAnswer& answer) {
  const std::vector<PlanRow> rows = rows_of(answer.search, answer.search.best, "best");
  Table table = table_of(row_fields(rows), rows);
  table.title = fmt::format("{} on {}, global batch {}: the best plan of each split of the GPUs",
                            answer.network, answer.search.cluster,
                            answer.search.question.training.global_batch);
  for (const std::string& note : answer.notes) table.notes.push_back(note);
  return table;
}

Table neighbour_table(const PlanSearch& search) {
  const std::vector<PlanRow> rows = neighbour_rows(search);
  const Fields<PlanRow> all = row_fields(rows);
  const auto plan = [](const PlanRow& row) { return typed_plan(row.plan()); };
  Fields<PlanRow> shown{Field<PlanRow>::table("change", &PlanRow::change, as::words)};
  for (const std::string_view key : {"of_best", "t_iter_s", "memory_bytes"}) {
    shown.push_back(*std::ranges::find(all, key, &Field<PlanRow>::key));
  }
  shown.push_back(Field<PlanRow>::table("plan", plan, as::words));
  shown.back().spare = 1;  // it is long
  Table table = table_of(shown, rows);
  table.title = "The best with one choice made otherwise, the others chosen anew";
  return table;
}

Table front_table(const PlanSearch& search, const std::vector<FoundPlan>& front,
                  std::string title) {
  const std::vector<PlanRow> rows = rows_of(search, front, "front");
  Table table = table_of(row_fields(rows), rows);
  table.title = std::move(title);
  return table;
}

LaunchSizes launch_sizes(const ParallelPlanAnswer& answer) {
  const PlanSearch& search = answer.search;
  const model::parallel_time::ParallelQuestion& training = search.question.training;
  const model::parallel_time::Family& family = *search.best.front().answered.setting.family;
  return {.layers = training.shape.layers,
          .global_batch = training.global_batch,
          .sequence = training.shape.sequence,
          .async_tensor = training.async_tensor,
          .dtype = answer.dtype,
          .hides_gradients = !family.one_queue,
          .hides_gathers = !family.one_queue && family.gathers_under_forward(),
          .hides_tensor = family.overlaps,
          .compiled = family.compiled};
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

std::string lead(const ParallelPlanAnswer& answer) {
  const PlanRow best = row_of(answer.search, answer.search.best.front(), "best");
  return fmt::format(
      "{} GPUs, {}: {} s an iteration ({} s), {} tokens/s, {} of peak; {} of {} GB, {}",
      best.found.gpus, typed_plan(best.plan()), significant(best.seconds(), 4), interval_text(best),
      significant(best.tokens / best.seconds(), 4), percent(best.flop_share), gb(best.need),
      gb(best.device()),
      best.need_high <= best.device() ? "which surely fits" : "which likely fits");
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
  const auto network = [name = answer.network](const PlanRow&) { return name; };
  const auto cluster = [name = search.cluster](const PlanRow&) { return name; };
  return records_of(joined<PlanRow>({{{"part", key, &PlanRow::part},
                                      {"change", key, &PlanRow::change},
                                      {"network", key, network},
                                      {"cluster", key, cluster}},
                                     row_fields(rows)}),
                    rows);
}

Json plan_object(const ParallelPlanAnswer& answer) {
  const PlanSearch& search = answer.search;
  const auto list = [&](const std::vector<FoundPlan>& plans, const char* part) {
    const std::vector<PlanRow> rows = rows_of(search, plans, part);
    return list_of(row_fields(rows), rows);
  };
  const std::vector<PlanRow> neighbours = neighbour_rows(search);
  const Fields<PlanRow> neighbour_fields =
      joined<PlanRow>({{{"change", Meaning::key, &PlanRow::change}}, row_fields(neighbours)});
  Json object{
      {"network", answer.network},
      {"cluster", search.cluster},
      {"framework", text_or_null(search.question.training.framework)},
      {"global_batch", search.question.training.global_batch},
      {"objective", model::parallel_search::objective_name(search.question.objective)},
      {"fits", search.question.fit == Fit::surely ? "surely" : "likely"},
      {"timed", search.timed},
      {"not_fitting", search.missed},
      {"splits", search.splits},
      {"not_told_apart", search.alike},
      {"unfit_gpus", search.unfit},
      {"best", list(search.best, "best")},
      {"neighbours", list_of(neighbour_fields, neighbours)},
      {"memory_front", list(search.memory_front, "memory")},
      {"gpu_front", list(search.gpu_front, "gpus")},
      {"notes", answer.notes},
  };
  if (answer.launch != nullptr) {
    object["launch"] = {
        {"framework", answer.launch->name},
        {"lines", launch_options(*answer.launch, search.best.front().answered.answer.plan,
                                 launch_sizes(answer))}};
  }
  return object;
}

std::vector<std::string> search_notes(const ParallelPlanAnswer& answer) {
  const PlanSearch& search = answer.search;
  std::vector<std::string> notes;
  notes.push_back(fmt::format("{} plans timed, and {} more do not fit, in {:.2g} s", search.timed,
                              search.missed, answer.search_s));
  notes.emplace_back(search.question.fit == Fit::surely
                         ? "fits: the high end of memory is at most what a process can allocate"
                         : "fits: the prediction of memory, not its high end, is at most what a "
                           "process can allocate");
  if (!search.unfit.empty()) {
    notes.push_back(fmt::format("no plan fits on {} GPUs", fmt::join(search.unfit, ", ")));
  }
  if (search.alike > 0) {
    notes.push_back(fmt::format(
        "the model cannot tell the best from {} of {}, which lie within its 90 % interval",
        counted(static_cast<long long>(search.alike), "other split"), search.splits - 1));
  }
  notes.emplace_back(
      "sp: sequence_parallel; ×: chunks; GB: of the rank that needs most; more: time or cost over "
      "the best");
  return notes;
}

}  // namespace

Document parallel_plan_document(const ParallelPlanAnswer& answer) {
  const PlanSearch& search = answer.search;
  EXPECT(!search.best.empty());
  Document document;
  document.lead = lead(answer);
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
  if (answer.launch != nullptr) document.tables.push_back(launch_table(answer));
  document.records = records(answer);
  document.json = json_answer("dlscale.parallel_plan", [answer] { return plan_object(answer); });
  return document;
}

std::string nothing_fits_text(const ParallelPlanAnswer& answer) {
  const PlanSearch& search = answer.search;
  EXPECT(search.nearest);
  const FoundPlan& nearest = *search.nearest;
  return fmt::format("No plan {} fits {} GB on {} GPUs: the nearest, {}, needs {} GB more.",
                     search.question.fit == Fit::surely ? "surely" : "likely",
                     gb(nearest.answered.hardware.memory), nearest.gpus,
                     typed_plan(nearest.answered.answer.plan), gb(search.nearest_excess));
}

}  // namespace dlscale::report
