#include "report/prediction/plan_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/run/run.hpp"
#include "core/text/numbers.hpp"
#include "model/plan/missed_limits.hpp"
#include "report/prediction/iteration_fields.hpp"
#include "report/prediction/note_text.hpp"
#include "report/table/interval.hpp"
#include "report/table/run_words.hpp"

namespace dlscale::report {
namespace {

using model::CheckedTraining;
using model::duration_text;
using model::PlannedTraining;
using model::PlanNeighbour;
using model::TrainingPlan;

/// Differences below this are rounding errors.
constexpr double differs = 1e-9;

bool has_price(const TrainingPlan& plan) {
  return plan.question.price.has_value();
}

/// Whether an interval may or may not meet limits. The global batch has none.
bool has_limits(const TrainingPlan& plan) {
  return plan.question.limits.time || plan.question.limits.budget;
}

std::string iteration_interval(const PlannedTraining& one) {
  if (!one.interval) return "–";
  return from_to(milliseconds(one.interval->low), milliseconds(one.interval->high));
}

std::string time_interval(const PlannedTraining& one) {
  if (!one.interval) return "–";
  return from_to(duration_text(one.time_at(one.interval->low)),
                 duration_text(one.time_at(one.interval->high)));
}

std::string kept_text(const PlannedTraining& one) {
  return one.interval ? std::string(model::limits_kept_name(one.kept)) : "–";
}

/// The word for a choice of a parameter server; null for other exchanges.
template <class Choice>
auto of_server(Choice model::Exchange::*choice, std::string_view (*name)(Choice)) {
  return [choice, name](const PlannedTraining& one) {
    return one.exchange.by_server() ? Json(name(one.exchange.*choice)) : Json(nullptr);
  };
}

auto end_of(Seconds model::IterationInterval::*which) {
  return [which](const PlannedTraining& one) {
    return one.interval ? std::optional((*one.interval).*which) : std::nullopt;
  };
}

auto end_of_efficiency(double model::QuantityInterval::*which) {
  return [which](const PlannedTraining& one) {
    return one.efficiency_interval ? std::optional((*one.efficiency_interval).*which)
                                   : std::nullopt;
  };
}

std::string planned_efficiency(const PlannedTraining& one) {
  return efficiency_text(one.efficiency, end_of_efficiency(&model::QuantityInterval::low)(one),
                         end_of_efficiency(&model::QuantityInterval::high)(one));
}

/// The choices of a training, before the time of its iteration.
Fields<PlannedTraining> choice_fields() {
  using F = Field<PlannedTraining>;
  using enum Meaning;
  using model::Exchange;
  const auto of_exchange = [](auto... path) { return via(&PlannedTraining::exchange, path...); };
  const auto servers = [](const PlannedTraining& one) {
    return one.exchange.by_server() ? std::optional(one.servers) : std::nullopt;
  };
  return {
      {"ranks", key, &PlannedTraining::ranks, "ranks", as::exact},
      {"batch", key, &PlannedTraining::batch, "batch", as::exact},
      F::table("global batch", &PlannedTraining::global_batch, as::whole),
      {"schedule", key, of_exchange(&Exchange::schedule, schedule_name), "schedule",
       of_exchange(model::exchange_text), Align::left},
      {"bucket_bytes", key, of_exchange(&Exchange::bucket)},
      {"synchronisation", key, of_exchange(&Exchange::synchronisation, synchronisation_name)},
      {"servers", key, servers},
      {"sharding", key, of_server(&Exchange::sharding, sharding_name)},
      {"transport", key, of_server(&Exchange::transport, transport_name)},
      {"callers", key, of_server(&Exchange::callers, callers_name)},
      {"t_iter_s", value, &PlannedTraining::iteration, "iteration ms", as::milliseconds},
  };
}

/// The outcome of the choices.
Fields<PlannedTraining> outcome_fields(const TrainingPlan& plan) {
  using F = Field<PlannedTraining>;
  using enum Meaning;
  const bool price = has_price(plan);
  const auto cost = [price](const PlannedTraining& one) {
    return price ? std::optional(one.cost) : std::nullopt;
  };
  const auto kept = [](const PlannedTraining& one) {
    return one.interval ? std::optional(model::limits_kept_name(one.kept)) : std::nullopt;
  };
  return {
      {"t_iter_low_s", value, end_of(&model::IterationInterval::low)},
      {"t_iter_high_s", value, end_of(&model::IterationInterval::high)},
      F::table("90 % interval", iteration_interval),
      {"images_per_s", value, &PlannedTraining::images_per_s, fmt::format("{}/s", plan.samples),
       via(&PlannedTraining::images_per_s, rate_text)},
      {"efficiency", value, &PlannedTraining::efficiency, "efficiency", planned_efficiency},
      {"efficiency_low", value, end_of_efficiency(&model::QuantityInterval::low)},
      {"efficiency_high", value, end_of_efficiency(&model::QuantityInterval::high)},
      {"epochs", value, &PlannedTraining::epochs, "epochs", as::significant<4>},
      {"time_to_train_s", value, &PlannedTraining::time, "time to train",
       via(&PlannedTraining::time, duration_text)},
      F::table("90 % interval", time_interval),
      {"rank_hours", value, &PlannedTraining::rank_hours, "rank hours", as::significant<4>},
      {"cost", value, cost, price ? "cost" : "", as::significant<4>},
      {"limits_kept", remark, kept, has_limits(plan) ? "limits kept" : "", as::words_or_dash},
  };
}

/// Columns that tables leave out to fit, the first first.
constexpr std::array spare_columns{"90 % interval", "efficiency", "global batch", "epochs",
                                   "iteration ms"};

Fields<PlannedTraining> training_fields(const TrainingPlan& plan) {
  Fields<PlannedTraining> fields = joined<PlannedTraining>({choice_fields(), outcome_fields(plan)});
  int rank = static_cast<int>(spare_columns.size());
  for (const std::string_view heading : spare_columns) {  // the first of this name
    std::ranges::find(fields, heading, &Field<PlannedTraining>::header)->spare = rank--;
  }
  return fields;
}

double difference(const CheckedTraining& one) {
  return (one.planned.iteration - one.simulated.iteration) / one.simulated.iteration;
}

std::string plan_title(const TrainingPlan& plan) {
  const model::TrainingLength& length = plan.question.length;
  return fmt::format(
      "{} on {}, {}, {:.4g} {}{} of {:.0f} {}", plan.run.network, plan.run.cluster,
      dtype_name(plan.run.dtype), length.epochs, length.epochs == 1 ? "epoch" : "epochs",
      length.critical_batch ? fmt::format(" (1 + B / {:.0f})", *length.critical_batch) : "",
      length.samples, plan.samples);
}

std::string wanted(model::Objective objective) {
  switch (objective) {
    case model::Objective::time:
      return "least time";
    case model::Objective::cost:
      return "least cost";
    case model::Objective::efficiency:
      return "highest efficiency";
  }
  fail_expectation("objective is an Objective");
}

std::vector<std::string> limits_of(const TrainingPlan& plan) {
  const model::PlanLimits& limits = plan.question.limits;
  std::vector<std::string> texts;
  if (limits.time) texts.push_back("time " + duration_text(*limits.time));
  if (limits.budget) texts.push_back(fmt::format("cost {:.4g}", *limits.budget));
  if (limits.global_batch)
    texts.push_back(fmt::format("global batch {:.0f}", *limits.global_batch));
  return texts;
}

bool by_form(const CheckedTraining& one) {
  return one.planned.by_form;
}

std::string difference_note(const std::vector<CheckedTraining>& best) {
  double most = 0;
  for (const CheckedTraining& one : best) most = std::max(most, std::abs(difference(one)));
  if (most <= differs) {
    return fmt::format("closed form and simulation of these differ by {:.1e} at most", most);
  }
  return fmt::format(
      "closed form and simulation of these differ by {:.3g} % at most: the order is that of the "
      "simulation",
      100 * most);
}

std::vector<std::string> plan_notes(const TrainingPlan& plan) {
  std::vector<std::string> notes;
  const auto limits = limits_of(plan);
  notes.push_back(fmt::format(
      "{} configurations, {} within the limits{}; {} by the closed form, {} by simulation",
      plan.configurations, plan.within_limits,
      limits.empty() ? "" : fmt::format(" ({})", fmt::join(limits, ", ")), plan.by_form,
      plan.by_simulation));
  notes.emplace_back(
      "90 % interval: of the iteration, and of the time to train in proportion to it; epochs are "
      "taken as they are. Limits are kept throughout: at its slow end, too");
  for (const std::string& why : plan.why_simulated) notes.push_back("simulated: " + why);
  if (std::ranges::any_of(plan.best, by_form)) notes.push_back(difference_note(plan.best));
  for (const std::string& one : plan.left_out) notes.push_back("left out for memory: " + one);
  for (const std::string& one : plan.too_few) notes.push_back("left out: " + one);
  if (!plan.question.length.critical_batch) {
    notes.emplace_back(
        "as many epochs whatever the batch: recipes are known to hold so up to a global batch of "
        "some 8,000; a critical batch says how many more larger ones take");
  }
  for (const std::string& one : plan.question.notes) notes.push_back(one);
  const auto& all = plan.question.space.global_batch;
  notes.push_back(
      fmt::format("without evaluations and the start; efficiency is over one rank with {}",
                  plan.over_all ? fmt::format("all {} {}", *all, plan.samples) : "the same batch"));
  if (all && !plan.over_all) {
    notes.push_back(fmt::format("one rank cannot train with all {} {}", *all, plan.samples));
  }
  return notes;
}

Cell closed_form_cell(const CheckedTraining& one) {
  if (!by_form(one)) return {"–"};
  const double off = difference(one);
  if (std::abs(off) <= differs) return {"the same"};
  return {signed_percent(off), Tone::caution};
}

/// "+1.6 %", or a note that the difference is only rounding.
std::string change_text(double ratio) {
  return std::abs(ratio - 1) <= differs ? "the same" : signed_percent(ratio - 1);
}

/// One of the best trainings, for JSON and people, as simulated.
Fields<CheckedTraining> best_fields(const TrainingPlan& plan) {
  using F = Field<CheckedTraining>;
  using enum Meaning;
  const auto form = [](const CheckedTraining& one) {
    return by_form(one) ? std::optional(one.planned.iteration) : std::nullopt;
  };
  constexpr int first = static_cast<int>(spare_columns.size()) + 1;
  return joined<CheckedTraining>({
      part_of<CheckedTraining>(training_fields(plan), &CheckedTraining::simulated),
      spared(first, Fields<CheckedTraining>{{"closed_form_t_iter_s", value, form, "closed form",
                                             closed_form_cell}}),
      spared(1, Fields<CheckedTraining>{{"bound", remark, &CheckedTraining::bound, "bound by",
                                         as::words}}),
      {F::json("notes", via(&CheckedTraining::notes, notes_object))},
  });
}

Table best_table(const TrainingPlan& plan) {
  Table table = table_of(best_fields(plan), plan.best);
  table.title = plan_title(plan) + ": " + wanted(plan.question.objective);
  std::set<std::string> told;
  for (const CheckedTraining& one : plan.best) {
    for (const std::string& note : note_texts(one.notes)) {
      if (told.insert(note).second) table.notes.push_back(note);
    }
  }
  for (std::string& note : plan_notes(plan)) table.notes.push_back(std::move(note));
  return table;
}

Table front_table(const TrainingPlan& plan) {
  std::vector<PlannedTraining> shown;
  for (const std::size_t place : told_of_front(plan.front)) shown.push_back(plan.front[place]);
  Table table = table_of(training_fields(plan), shown);
  table.title = "Time against cost: nothing is both quicker and cheaper";
  if (table.rows.size() < plan.front.size()) {
    table.notes.push_back(fmt::format("{} of {} points (all of them in the formats json and csv)",
                                      table.rows.size(), plan.front.size()));
  }
  return table;
}

Fields<PlanNeighbour> neighbour_fields(const TrainingPlan& plan) {
  using F = Field<PlanNeighbour>;
  using enum Meaning;
  const PlannedTraining best = plan.best.front().planned;
  const auto time = [best](const PlanNeighbour& one) {
    return change_text(one.planned.time / best.time);
  };
  const auto hours = [best](const PlanNeighbour& one) {
    return change_text(one.planned.rank_hours / best.rank_hours);
  };
  const auto kept = [](const PlanNeighbour& one) {
    return one.planned.interval ? kept_text(one.planned) : one.within_limits ? "kept" : "missed";
  };
  const auto shown = [&plan](std::initializer_list<std::string_view> keys) {
    return part_of<PlanNeighbour>(picked(training_fields(plan), keys), &PlanNeighbour::planned);
  };
  return joined<PlanNeighbour>({
      for_programs(part_of<PlanNeighbour>(training_fields(plan), &PlanNeighbour::planned)),
      {{"change", key, &PlanNeighbour::change, "change", as::words},
       {"within_limits", value, &PlanNeighbour::within_limits}},
      for_people(shown({"time_to_train_s"})),
      {F::table("time", time)},
      for_people(shown({"rank_hours"})),
      {F::table("hours", hours)},
      for_people(shown({"cost"})),
      {F::table("limits kept", kept, Align::left)},
  });
}

Table neighbour_table(const TrainingPlan& plan) {
  Table table = table_of(neighbour_fields(plan), plan.neighbours);
  table.title = "The best with one choice made otherwise";
  return table;
}

struct PlanRecord {
  const char* part;
  std::string change;
  PlannedTraining training;
  std::optional<Seconds> simulated;  ///< for the best trainings
  bool within = true;                ///< within the limits
};

Fields<PlanRecord> plan_record_fields(const TrainingPlan& plan) {
  using enum Meaning;
  const auto of_training = [](const Fields<PlannedTraining>& fields) {
    return for_programs(part_of<PlanRecord>(fields, &PlanRecord::training));
  };
  const auto of_run = [&plan](const PlanRecord&) -> const Run& { return plan.run; };
  const auto within = [](const PlanRecord& one) { return one.within ? 1 : 0; };
  return joined<PlanRecord>({
      {{"part", key, &PlanRecord::part}, {"change", key, &PlanRecord::change}},
      part_of<PlanRecord>(picked(run_fields(), {"network", "cluster", "dtype"}), of_run),
      of_training(choice_fields()),
      {{"t_iter_simulated_s", value, &PlanRecord::simulated}},
      of_training(without(outcome_fields(plan), {"limits_kept"})),
      {{"within_limits", value, within}},
      of_training(picked(outcome_fields(plan), {"limits_kept"})),
  });
}

/// One row for each of the best, of time against cost, and of the neighbours.
Table plan_records(const TrainingPlan& plan) {
  std::vector<PlanRecord> rows;
  for (const CheckedTraining& one : plan.best) {
    PlannedTraining best = one.planned;
    best.interval = one.simulated.interval;
    best.efficiency_interval = one.simulated.efficiency_interval;
    best.kept = one.simulated.kept;
    rows.push_back({"best", "", best, one.simulated.iteration});
  }
  for (const PlannedTraining& one : plan.front) rows.push_back({"front", "", one, {}});
  for (const PlanNeighbour& one : plan.neighbours) {
    rows.push_back({"neighbour", one.change, one.planned, {}, one.within_limits});
  }
  return records_of(plan_record_fields(plan), rows);
}

Json question_object(const model::PlanQuestion& question) {
  const auto& limits = question.limits;
  return {{"objective", model::objective_name(question.objective)},
          {"epochs", number(question.length.epochs)},
          {"critical_batch", value_of(question.length.critical_batch)},
          {"samples", number(question.length.samples)},
          {"time_limit_s", value_of(limits.time)},
          {"budget", value_of(limits.budget)},
          {"global_batch", value_of(question.space.global_batch)},
          {"notes", question.notes},
          {"max_global_batch", value_of(limits.global_batch)},
          {"most_ranks", question.most_ranks},
          {"cluster_ranks", question.cluster_ranks},
          {"cost_per_rank_hour", value_of(question.price)}};
}

Json beyond_limits(const TrainingPlan& plan) {
  if (!plan.beyond_limits) return nullptr;
  return list_of(training_fields(plan), std::vector{*plan.beyond_limits}).at(0);
}

Json plan_object(const TrainingPlan& plan) {
  return {{"network", plan.run.network},
          {"cluster", plan.run.cluster},
          {"dtype", dtype_name(plan.run.dtype)},
          {"question", question_object(plan.question)},
          {"interval", model::prediction_interval},
          {"configurations", plan.configurations},
          {"within_limits", plan.within_limits},
          {"by_closed_form", plan.by_form},
          {"by_simulation", plan.by_simulation},
          {"simulated_because", plan.why_simulated},
          {"left_out_for_memory", plan.left_out},
          {"left_out_for_servers", plan.too_few},
          {"ranks_bound_by", model::choice_bound_name(plan.ranks_bound)},
          {"batch_bound_by", model::choice_bound_name(plan.batch_bound)},
          {"beyond_limits", beyond_limits(plan)},
          {"best", list_of(best_fields(plan), plan.best)},
          {"front", list_of(training_fields(plan), plan.front)},
          {"neighbours", list_of(neighbour_fields(plan), plan.neighbours)}};
}

}  // namespace

Document plan_document(const TrainingPlan& plan) {
  EXPECT(!plan.best.empty());
  Document document;
  document.tables.push_back(best_table(plan));
  document.tables.push_back(front_table(plan));
  if (!plan.neighbours.empty()) document.tables.push_back(neighbour_table(plan));
  document.records = plan_records(plan);
  document.json = json_answer(
      "dlscale.plan", [plan] { return plan_object(plan); }, notes_with_kinds);
  return document;
}

}  // namespace dlscale::report
