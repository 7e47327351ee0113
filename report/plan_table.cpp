#include "report/plan_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "core/run.hpp"
#include "model/plan/duration_text.hpp"
#include "report/numbers.hpp"
#include "report/record_columns.hpp"

namespace dlscale::report {
namespace {

using model::CheckedTraining;
using model::duration_text;
using model::PlannedTraining;
using model::PlanNeighbour;
using model::TrainingPlan;

/// Beyond rounding.
constexpr double differs = 1e-9;

bool has_price(const TrainingPlan& plan) {
  return plan.question.price.has_value();
}

/// That an interval may or may not reach: the global batch is as it is.
bool has_limits(const TrainingPlan& plan) {
  return plan.question.limits.time || plan.question.limits.budget;
}

/// What all tables say of a training.
std::vector<Column> training_columns(bool price, bool limits) {
  std::vector<Column> columns{{"ranks"}, {"batch"}, {"global batch"}, {"schedule", Align::left}};
  for (const char* heading :
       {"iteration ms", "90 % interval", "images/s", "efficiency", "epochs", "time to train"}) {
    columns.push_back({heading});
  }
  columns.push_back({"90 % interval"});
  columns.push_back({"rank hours"});
  if (price) columns.push_back({"cost"});
  if (limits) columns.push_back({"limits kept", Align::left});
  return columns;
}

std::string iteration_interval(const PlannedTraining& one) {
  if (!one.interval) return "–";
  return fmt::format("{} – {}", milliseconds(one.interval->low), milliseconds(one.interval->high));
}

std::string time_interval(const PlannedTraining& one) {
  if (!one.interval) return "–";
  return fmt::format("{} – {}", duration_text(one.time_at(one.interval->low)),
                     duration_text(one.time_at(one.interval->high)));
}

std::string kept_text(const PlannedTraining& one) {
  return one.interval ? std::string(model::limits_kept_name(one.kept)) : "–";
}

std::vector<Cell> training_cells(const PlannedTraining& one, bool price, bool limits) {
  std::vector<Cell> cells{{std::to_string(one.ranks)},
                          {std::to_string(one.batch)},
                          {fmt::format("{:.0f}", one.global_batch())},
                          {model::exchange_text(one.exchange)},
                          {milliseconds(one.iteration)},
                          {iteration_interval(one)},
                          {significant(one.images_per_s, 4)},
                          {percent(one.efficiency)},
                          {significant(one.epochs, 4)},
                          {duration_text(one.time)},
                          {time_interval(one)},
                          {significant(one.rank_hours, 4)}};
  if (price) cells.push_back({significant(one.cost, 4)});
  if (limits) cells.push_back({kept_text(one)});
  return cells;
}

double difference(const CheckedTraining& one) {
  return (one.planned.iteration - one.simulated.iteration) / one.simulated.iteration;
}

std::string title_of(const TrainingPlan& plan) {
  const model::TrainingLength& length = plan.question.length;
  return fmt::format(
      "{} on {}, {}, {:.4g} epochs{} of {:.0f} images", plan.run.network, plan.run.cluster,
      dtype_name(plan.run.dtype), length.epochs,
      length.critical_batch ? fmt::format(" (1 + B / {:.0f})", *length.critical_batch) : "",
      length.samples);
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

std::vector<std::string> notes_of(const TrainingPlan& plan) {
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
        "some 8,000; --critical-batch says how many more larger ones take");
  }
  for (const std::string& one : plan.question.notes) notes.push_back(one);
  const auto& all = plan.question.space.global_batch;
  notes.push_back(
      fmt::format("without evaluations and the start; efficiency is over one rank with {}",
                  plan.over_all ? fmt::format("all {} images", *all) : "the same batch"));
  if (all && !plan.over_all) {
    notes.push_back(fmt::format("one rank cannot train with all {} images", *all));
  }
  return notes;
}

Cell closed_form_cell(const CheckedTraining& one) {
  if (!by_form(one)) return {"–"};
  const double off = difference(one);
  if (std::abs(off) <= differs) return {"the same"};
  return {signed_percent(off), Tone::caution};
}

/// "+1.6 %", or that nothing but rounding is between them.
std::string change_text(double ratio) {
  return std::abs(ratio - 1) <= differs ? "the same" : signed_percent(ratio - 1);
}

Table best_table(const TrainingPlan& plan) {
  const bool price = has_price(plan);
  Table table;
  table.title = title_of(plan) + ": " + wanted(plan.question.objective);
  table.columns = training_columns(price, has_limits(plan));
  table.columns.push_back({"closed form"});
  table.columns.push_back({"bound by", Align::left});
  std::set<std::string> told;
  std::vector<std::string> notes;
  for (const CheckedTraining& one : plan.best) {
    auto& row = table.rows.emplace_back(training_cells(one.simulated, price, has_limits(plan)));
    row.push_back(closed_form_cell(one));
    row.push_back({one.bound});
    for (const std::string& note : one.notes) {
      if (told.insert(note).second) notes.push_back(note);
    }
  }
  table.notes = std::move(notes);
  for (std::string& note : notes_of(plan)) table.notes.push_back(std::move(note));
  return table;
}

Table front_table(const TrainingPlan& plan) {
  const bool price = has_price(plan);
  Table table;
  table.title = "Time against cost: nothing is both quicker and cheaper";
  table.columns = training_columns(price, has_limits(plan));
  for (const std::size_t place : told_of_front(plan.front)) {
    table.rows.push_back(training_cells(plan.front[place], price, has_limits(plan)));
  }
  if (table.rows.size() < plan.front.size()) {
    table.notes.push_back(fmt::format("{} of {} points (all of them with --format json or csv)",
                                      table.rows.size(), plan.front.size()));
  }
  return table;
}

Table neighbour_table(const TrainingPlan& plan) {
  const bool price = has_price(plan);
  const PlannedTraining& best = plan.best.front().planned;
  Table table;
  table.title = "The best with one choice made otherwise";
  table.columns = {{"change", Align::left}, {"time to train"}, {"time"}, {"rank hours"}, {"hours"}};
  if (price) table.columns.push_back({"cost"});
  table.columns.push_back({"limits kept", Align::left});
  for (const PlanNeighbour& one : plan.neighbours) {
    const PlannedTraining& other = one.planned;
    std::vector<Cell> row{{one.change},
                          {duration_text(other.time)},
                          {change_text(other.time / best.time)},
                          {significant(other.rank_hours, 4)},
                          {change_text(other.rank_hours / best.rank_hours)}};
    if (price) row.push_back({significant(other.cost, 4)});
    row.push_back({other.interval ? kept_text(other) : one.within_limits ? "kept" : "missed"});
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string lead_of(const TrainingPlan& plan) {
  const PlannedTraining& best = plan.best.front().simulated;
  return fmt::format("{} with {} images each by {}: {}, {} hours of a rank{}",
                     counted(best.ranks, "rank"), best.batch, model::exchange_text(best.exchange),
                     duration_text(best.time), significant(best.rank_hours, 4),
                     has_price(plan) ? fmt::format(", for {}", significant(best.cost, 4)) : "");
}

/// A row each of the best, of time against cost, and of the neighbours.
Table records_of(const TrainingPlan& plan) {
  Table table;
  add_columns(table.columns, Meaning::key,
              {"part", "change", "network", "cluster", "dtype", "ranks", "batch", "schedule",
               "bucket_bytes", "synchronisation", "servers", "sharding", "transport", "callers"});
  add_columns(table.columns, Meaning::value,
              {"t_iter_s", "t_iter_simulated_s", "t_iter_low_s", "t_iter_high_s", "images_per_s",
               "efficiency", "epochs", "time_to_train_s", "rank_hours", "cost", "within_limits"});
  add_columns(table.columns, Meaning::remark, {"limits_kept"});
  const auto add = [&](const char* part, const std::string& change, const PlannedTraining& one,
                       const std::string& simulated, bool within) {
    table.rows.push_back(
        {{part},
         {change},
         {plan.run.network},
         {plan.run.cluster},
         {std::string(dtype_name(plan.run.dtype))},
         {std::to_string(one.ranks)},
         {std::to_string(one.batch)},
         {std::string(schedule_name(one.exchange.schedule))},
         {one.exchange.bucket ? exact(one.exchange.bucket->si()) : ""},
         {std::string(synchronisation_name(one.exchange.synchronisation))},
         {one.exchange.by_server() ? std::to_string(one.servers) : ""},
         {one.exchange.by_server() ? std::string(sharding_name(one.exchange.sharding)) : ""},
         {one.exchange.by_server() ? std::string(transport_name(one.exchange.transport)) : ""},
         {one.exchange.by_server() ? std::string(callers_name(one.exchange.callers)) : ""},
         {exact(one.iteration.si())},
         {simulated},
         {one.interval ? exact(one.interval->low.si()) : ""},
         {one.interval ? exact(one.interval->high.si()) : ""},
         {exact(one.images_per_s)},
         {exact(one.efficiency)},
         {exact(one.epochs)},
         {exact(one.time.si())},
         {exact(one.rank_hours)},
         {plan.question.price ? exact(one.cost) : ""},
         {within ? "1" : "0"},
         {one.interval ? kept_text(one) : ""}});
  };
  for (const CheckedTraining& one : plan.best) {
    PlannedTraining best = one.planned;
    best.interval = one.simulated.interval;
    best.kept = one.simulated.kept;
    add("best", "", best, exact(one.simulated.iteration.si()), true);
  }
  for (const PlannedTraining& one : plan.front) {
    add("front", "", one, "", true);
  }
  for (const PlanNeighbour& one : plan.neighbours) {
    add("neighbour", one.change, one.planned, "", one.within_limits);
  }
  return table;
}

}  // namespace

Document plan_document(const TrainingPlan& plan) {
  EXPECT(!plan.best.empty());
  Document document;
  document.lead = lead_of(plan);
  document.tables.push_back(best_table(plan));
  document.tables.push_back(front_table(plan));
  if (!plan.neighbours.empty()) document.tables.push_back(neighbour_table(plan));
  document.records = records_of(plan);
  document.json = plan_json(plan);
  return document;
}

}  // namespace dlscale::report
