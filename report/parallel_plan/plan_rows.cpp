#include "report/parallel_plan/plan_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/parallel/plan_text.hpp"
#include "core/text/numbers.hpp"
#include "report/table/interval.hpp"
#include "report/table/run_words.hpp"

namespace dlscale::report {
namespace {

using model::parallel_search::Choice;
using model::parallel_search::FoundPlan;
using model::parallel_search::PlanNeighbour;
using model::parallel_search::PlanSearch;
using parallel::ParallelPlan;
using parallel::Recompute;

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
  return fmt::format("{} {}", parallel::recompute_name(plan.recompute), plan.recompute_layers);
}

std::string tensor_text(const ParallelPlan& plan) {
  return fmt::format("{}{}", plan.tensor, plan.sequence_parallel ? " sp" : "");
}

auto of_plan(auto what) {
  return [what](const PlanRow& row) { return std::invoke(what, row.plan()); };
}

bool are_alike(const std::vector<PlanRow>& rows, auto what) {
  return std::ranges::all_of(rows,
                             [&](const PlanRow& row) { return what(row) == what(rows.front()); });
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

Fields<PlanRow> outcome_fields(bool shows_energy) {
  using F = Field<PlanRow>;
  using enum Meaning;
  constexpr double mega = 1e6;
  const auto seconds_text = [](const PlanRow& row) { return significant(row.seconds(), 4); };
  const auto tokens_text = [](const PlanRow& row) { return rate_text(row.tokens_per_s()); };
  const auto free = [](const PlanRow& row) { return row.device() - row.need_high; };
  const auto free_text = [free](const PlanRow& row) { return gb(free(row)); };
  const auto joules = [](const PlanRow& row) -> std::optional<double> {
    return row.found.joules > 0 ? std::optional(row.found.joules) : std::nullopt;
  };
  const auto energy_text = [](const PlanRow& row) {
    return significant(row.found.joules / mega, 4);
  };
  const auto beside = [](const PlanRow& row) {
    return row.of_best == 1 ? std::string("–") : signed_percent(row.of_best - 1);
  };
  return {
      {"t_iter_s", value, &PlanRow::seconds, "step s", seconds_text},
      {"t_iter_low_s", value, &PlanRow::low},
      {"t_iter_high_s", value, &PlanRow::high},
      F::table("90 % interval", interval_text),
      {"tokens_per_s", value, &PlanRow::tokens_per_s, "tokens/s", tokens_text},
      {"flop_utilisation", value, &PlanRow::flop_share, "of peak", as::percent},
      {"energy_j", value, joules, shows_energy ? "MJ" : "", energy_text},
      {"memory_bytes", value, &PlanRow::need, "GB",
       [](const PlanRow& row) { return gb(row.need); }},
      {"memory_high_bytes", value, &PlanRow::need_high},
      {"memory_free_bytes", value, free, "GB free", free_text},
      {"of_best", value, &PlanRow::of_best, "more", beside},
  };
}

std::string value_text(Choice choice, const PlanRow& row) {
  const ParallelPlan& plan = row.plan();
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
    case Choice::framework:
      return row.title;
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
    case Choice::framework:
      return "";
  }
  return "";  // every case is above
}

}  // namespace

PlanRow row_of(const PlanSearch& search, const FoundPlan& found, std::string part,
               std::string change) {
  using model::memory::MemoryCounter;
  const model::parallel_time::AnsweredPlan& answered = found.answered;
  const model::memory::RankMemory& memory = answered.answer.memory;
  const model::memory::MemoryEstimate peak =
      memory.peak(memory.worst(MemoryCounter::device).stage, MemoryCounter::device);
  const model::parallel_time::ParallelQuestion& training = search.question.training;
  const model::parallel_search::AskedFramework& framework = search.framework_of(found);
  PlanRow row{std::move(part), std::move(change), found, framework.name,
              std::string(framework.title())};
  row.of_best = found.score / search.best.front().score;
  row.flop_share =
      model::parallel_time::flop_utilisation(training, answered.setting, answered.answer);
  row.tokens =
      static_cast<double>(training.global_batch) * static_cast<double>(training.shape.sequence);
  row.need = peak.bytes;
  row.need_high = peak.high;
  return row;
}

std::vector<PlanRow> rows_of(const PlanSearch& search, const std::vector<FoundPlan>& plans,
                             const char* part) {
  std::vector<PlanRow> rows;
  for (const FoundPlan& plan : plans) rows.push_back(row_of(search, plan, part));
  return rows;
}

std::vector<PlanRow> neighbour_rows(const PlanSearch& search) {
  const PlanRow best = row_of(search, search.best.front(), "best");
  std::vector<PlanRow> rows;
  for (const PlanNeighbour& each : search.neighbours) {
    PlanRow row = row_of(search, each.plan, "neighbour");
    row.change = fmt::format("{}{} instead of {}", choice_text(each.choice),
                             value_text(each.choice, row), value_text(each.choice, best));
    rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(rows, {}, &PlanRow::of_best);
  return rows;
}

Fields<PlanRow> split_fields(const std::vector<PlanRow>& rows) {
  using enum Meaning;
  const auto any = [&](int ParallelPlan::*ranks) {
    return std::ranges::any_of(rows, [ranks](const PlanRow& row) { return row.plan().*ranks > 1; });
  };
  const auto gpus = [](const PlanRow& row) { return row.found.gpus; };
  const auto plan = [](const PlanRow& row) { return typed_plan(row.plan()); };
  const auto title = [](const PlanRow& row) { return row.title; };
  const auto overlap = [](const ParallelPlan& one) { return one.tensor_overlap.value_or(false); };
  const auto compile = [](const PlanRow& row) { return row.found.answered.answer.sizes.compiled; };
  Field<PlanRow> tensor{"tensor", key, of_plan(&ParallelPlan::tensor)};
  tensor.header = "tensor";
  tensor.cell = [](const PlanRow& row) { return tensor_text(row.plan()); };
  return {
      {"gpus", key, gpus, are_alike(rows, gpus) ? "" : "GPUs", as::exact},
      {"framework", key, &PlanRow::framework, are_alike(rows, title) ? "" : "framework", title,
       Align::left},
      {"plan", key, plan},
      tensor,
      {"sequence_parallel", key, of_plan(&ParallelPlan::sequence_parallel)},
      {"tensor_overlap", key, of_plan(overlap)},
      {"compile", key, compile},
      {"context", key, of_plan(&ParallelPlan::context),
       any(&ParallelPlan::context) ? "context" : "", as::exact},
      {"stages", key, of_plan(&ParallelPlan::stages), "stages", as::exact},
      {"data", key, of_plan(&ParallelPlan::data), "data", as::exact},
      {"experts", key, of_plan(&ParallelPlan::experts),
       any(&ParallelPlan::experts) ? "experts" : "", as::exact},
  };
}

Fields<PlanRow> row_fields(const std::vector<PlanRow>& rows, bool shows_energy) {
  Fields<PlanRow> fields =
      joined<PlanRow>({split_fields(rows), rest_fields(), outcome_fields(shows_energy)});
  may_leave_out({"of peak", "schedule", "recompute", "more", "micro-batch", "GB", "90 % interval"},
                fields);
  return fields;
}

std::string typed_plan(const ParallelPlan& plan) {
  ParallelPlan typed = plan;
  typed.bytes = {};
  return parallel::to_text(typed);
}

std::string gb(double bytes) {
  constexpr double giga_bytes = 1e9;
  return fmt::format("{:.1f}", bytes / giga_bytes);
}

std::string interval_text(const PlanRow& row) {
  return from_to(significant(row.low(), 3), significant(row.high(), 3));
}

}  // namespace dlscale::report
