#include "report/json/fields.hpp"
#include "report/plan_table.hpp"

namespace dlscale::report {
namespace {

using model::CheckedTraining;
using model::PlannedTraining;
using model::PlanNeighbour;
using model::TrainingPlan;

Json training_fields(const PlannedTraining& one, bool price) {
  const auto& bucket = one.exchange.bucket;
  const auto end = [&](Seconds model::IterationInterval::*which) {
    return one.interval ? number((*one.interval).*which) : Json(nullptr);
  };
  return {{"ranks", one.ranks},
          {"batch", one.batch},
          {"schedule", schedule_name(one.exchange.schedule)},
          {"bucket_bytes", bucket ? number(bucket->si()) : Json(nullptr)},
          {"synchronisation", synchronisation_name(one.exchange.synchronisation)},
          {"servers", one.exchange.by_server() ? Json(one.servers) : Json(nullptr)},
          {"sharding",
           one.exchange.by_server() ? Json(sharding_name(one.exchange.sharding)) : Json(nullptr)},
          {"transport",
           one.exchange.by_server() ? Json(transport_name(one.exchange.transport)) : Json(nullptr)},
          {"callers",
           one.exchange.by_server() ? Json(callers_name(one.exchange.callers)) : Json(nullptr)},
          {"t_iter_s", number(one.iteration)},
          {"t_iter_low_s", end(&model::IterationInterval::low)},
          {"t_iter_high_s", end(&model::IterationInterval::high)},
          {"images_per_s", number(one.images_per_s)},
          {"efficiency", number(one.efficiency)},
          {"epochs", number(one.epochs)},
          {"time_to_train_s", number(one.time)},
          {"rank_hours", number(one.rank_hours)},
          {"cost", price ? number(one.cost) : Json(nullptr)},
          {"limits_kept", one.interval ? Json(model::limits_kept_name(one.kept)) : Json(nullptr)}};
}

Json question_fields(const model::PlanQuestion& question) {
  return {{"objective", model::objective_name(question.objective)},
          {"epochs", number(question.length.epochs)},
          {"critical_batch", optional_number(question.length.critical_batch)},
          {"samples", number(question.length.samples)},
          {"time_limit_s", optional_number(question.limits.time)},
          {"budget", optional_number(question.limits.budget)},
          {"global_batch",
           question.space.global_batch ? Json(*question.space.global_batch) : Json(nullptr)},
          {"notes", question.notes},
          {"max_global_batch", optional_number(question.limits.global_batch)},
          {"cost_per_rank_hour", optional_number(question.price)}};
}

}  // namespace

std::string plan_json(const TrainingPlan& plan) {
  const bool price = plan.question.price.has_value();
  Json json{{"schema", "dlscale.plan"},
            {"version", 1},
            {"network", plan.run.network},
            {"cluster", plan.run.cluster},
            {"dtype", dtype_name(plan.run.dtype)},
            {"question", question_fields(plan.question)},
            {"interval", model::prediction_interval},
            {"configurations", plan.configurations},
            {"within_limits", plan.within_limits},
            {"by_closed_form", plan.by_form},
            {"by_simulation", plan.by_simulation},
            {"simulated_because", plan.why_simulated},
            {"left_out_for_memory", plan.left_out},
            {"left_out_for_servers", plan.too_few},
            {"best", Json::array()},
            {"front", Json::array()},
            {"neighbours", Json::array()}};
  for (const CheckedTraining& one : plan.best) {
    Json fields = training_fields(one.simulated, price);
    fields["closed_form_t_iter_s"] =
        one.planned.by_form ? number(one.planned.iteration) : Json(nullptr);
    fields["bound"] = one.bound;
    fields["notes"] = one.notes;
    json["best"].push_back(std::move(fields));
  }
  for (const PlannedTraining& one : plan.front) {
    json["front"].push_back(training_fields(one, price));
  }
  for (const PlanNeighbour& one : plan.neighbours) {
    Json fields = training_fields(one.planned, price);
    fields["change"] = one.change;
    fields["within_limits"] = one.within_limits;
    json["neighbours"].push_back(std::move(fields));
  }
  return dump(json);
}

}  // namespace dlscale::report
