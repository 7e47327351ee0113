#include "report/json/fields.hpp"
#include "report/json/json.hpp"

namespace dlscale::report {
namespace {

Json phase_fields(const PhaseError& phase) {
  return {{"phase", phase.phase},
          {"predicted_s", number(phase.predicted)},
          {"measured_s", number(phase.measured)},
          {"error", optional_number(phase.error)},
          {"share_of_error", number(phase.share_of_error)}};
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json run_validation_fields(const RunValidation& run) {
  Json json;
  json["key"] = run.key;
  json["run"] = run_fields(run.run);
  json["links"] = text_or_null(run.links);
  json["backend"] = run.backend;
  json["repeats"] = run.repeats;
  json["measured_t_iter_s"] = Json::array();
  for (const Seconds time : run.measured) json["measured_t_iter_s"].push_back(number(time));
  json["measured_t_iter_low_s"] = number(run.measured_low);
  json["measured_t_iter_high_s"] = number(run.measured_high);
  json["errors"] = Json::array();
  for (const double error : run.errors) json["errors"].push_back(number(error));
  json["phases"] = Json::array();
  for (const PhaseError& phase : run.phases) json["phases"].push_back(phase_fields(phase));
  json["blame"] = run.blame;
  json["bound"] = run.measured_bound;  // prediction has what is predicted
  json["naive_error"] = optional_number(run.naive_error);
  json["prediction"] = prediction_fields(run.prediction);
  return json;
}

Json summary_fields(const ErrorSummary& summary, const Limits& limits) {
  const auto limit = limit_of(summary, limits);
  return {{"group", summary.group},
          {"runs", summary.runs},
          {"repeats", summary.repeats},
          {"bias", number(summary.bias)},
          {"median_abs", number(summary.median_abs)},
          {"p90_abs", number(summary.p90_abs)},
          {"naive_median_abs", optional_number(summary.naive_median_abs)},
          {"limit", optional_number(limit)},
          {"passed", limit ? Json(passes(summary, *limit)) : Json(nullptr)}};
}

/// Runs by their place in "runs".
Json order_fields(const ScheduleOrder& order, const Limits& limits) {
  const auto passed = passes(order, limits);
  return {{"runs", order.runs},
          {"measured_ranks", order.measured_ranks},
          {"predicted_ranks", order.predicted_ranks},
          {"rank_correlation", optional_number(order.correlation)},
          {"pairs_apart", order.pairs_apart},
          {"pairs_right", order.pairs_right},
          {"fastest_measured", order.runs.at(order.fastest_measured)},
          {"fastest_predicted", order.runs.at(order.fastest_predicted)},
          {"choice_loss", number(order.loss)},
          {"limit", optional_number(limits.order)},
          {"passed", passed ? Json(*passed) : Json(nullptr)}};
}

std::string_view verdict(ExitCode code) {
  if (code == ExitCode::ok) return "passed";
  return code == ExitCode::inconclusive ? "inconclusive" : "failed";
}

}  // namespace

std::string validation_json(const Validation& validation, const Limits& limits) {
  Json json{{"schema", "dlscale.validation"}, {"version", 1}};
  const ExitCode code = exit_code(validation, limits);
  json["passed"] = code == ExitCode::ok;
  json["verdict"] = verdict(code);
  json["not_judged"] = validation.not_judged;  // why: in the notes
  json["runs"] = Json::array();
  for (const RunValidation& run : validation.runs) {
    json["runs"].push_back(run_validation_fields(run));
  }
  json["summaries"] = Json::array();
  for (const ErrorSummary& summary : validation.summaries) {
    json["summaries"].push_back(summary_fields(summary, limits));
  }
  json["schedule_orders"] = Json::array();
  for (const ScheduleOrder& order : validation.orders) {
    json["schedule_orders"].push_back(order_fields(order, limits));
  }
  json["notes"] = validation.notes;
  return dump(json);
}

}  // namespace dlscale::report
