#include "report/json/fields.hpp"
#include "report/roofline_table.hpp"

namespace dlscale::report {
namespace {

Json errors_fields(const model::AlgorithmErrors& errors) {
  return {{"algorithm", errors.algorithm},
          {"threads", errors.threads > 0 ? Json(errors.threads) : Json(nullptr)},
          {"kernels", errors.kernels},
          {"samples", errors.samples},
          {"extrapolated", errors.extrapolated},
          {"bias", number(errors.bias)},
          {"median_abs", number(errors.median)},
          {"p90_abs", number(errors.p90)},
          {"in_interval", number(errors.within)},
          {"naive_median_abs", number(errors.naive_median)},
          {"naive_p90_abs", number(errors.naive_p90)},
          {"repeats_differ", errors.repeats ? number(*errors.repeats) : Json(nullptr)}};
}

Json way_fields(const model::Way& way) {
  return {{"backend", way.backend},
          {"algorithm", lowering::method_name(way.method)},
          {"pass", pass_name(way.pass)},
          {"threads", way.threads},
          {"cache", way.cache}};
}

/// Stages and what is not one of them add up to the whole.
Json stage_fields(const model::KernelPrediction& prediction) {
  Json stages = Json::array();
  for (const model::StageTime& stage : prediction.stages) {
    stages.push_back({{"name", stage.name},
                      {"time_s", number(stage.time())},
                      {"compute_s", number(stage.compute)},
                      {"memory_s", number(stage.memory)},
                      {"bound_by", stage.memory_bound() ? "memory" : "compute"}});
  }
  return stages;
}

Json prediction_fields(const model::KernelPrediction& prediction) {
  return {{"time_s", number(prediction.time.value)},
          {"low_s", number(prediction.time.low)},
          {"high_s", number(prediction.time.high)},
          {"naive_s", number(prediction.naive)},
          {"beyond", prediction.beyond},
          {"correction", number(prediction.correction)},
          {"start_and_tensors_s", number(prediction.always)},
          {"stages", stage_fields(prediction)}};
}

Json loss_fields(const model::ChoiceLoss& loss) {
  const bool any = loss.choices > 0;
  return {{"choices", loss.choices},
          {"fastest_chosen", loss.best},
          {"chosen_s", number(loss.chosen)},
          {"fastest_s", number(loss.least)},
          {"loss", any ? number(loss.loss()) : Json(nullptr)},
          {"median_loss", any ? number(loss.median) : Json(nullptr)}};
}

Json part_fields(const model::ChoicePart& part) {
  return {{"layers_of", model::layers_of_name(part.layers_of)},
          {"batch", part.batch > 0 ? Json(part.batch) : Json(nullptr)},
          {"counted", model::counting_name(part.counting)},
          {"by_prediction", loss_fields(part.predicted)},
          {"by_repeats", loss_fields(part.repeated)}};
}

void add_choice_fields(const model::ChoiceJudgement& choice, Json& json) {
  json["choice"] = loss_fields(choice.all.predicted);
  json["choice_by_repeats"] = loss_fields(choice.all.repeated);
  json["choice_of"] = model::layers_of_name(choice.all.layers_of);
  json["choice_parts"] = Json::array();
  for (const model::ChoicePart& part : choice.parts) {
    json["choice_parts"].push_back(part_fields(part));
  }
  json["choice_incomplete"] = choice.incomplete;
  json["choice_unanswered"] = choice.unanswered;
  json["choice_not_offered"] = Json::object();
  for (const auto& [algorithm, times] : choice.not_offered) {
    json["choice_not_offered"][algorithm] = times;
  }
}

/// Where it was not asked for, or nothing was there to choose from: null.
Json both_halves_field(const model::ChoicePart& both) {
  return both.predicted.choices > 0 ? part_fields(both) : Json(nullptr);
}

Json sample_fields(const model::JudgedSample& judged) {
  const model::KernelCase& what = judged.sample.what;
  return {{"way", way_fields(what.way)},
          {"kernel", what.kernel},
          {"batch", what.batch},
          {"layers", judged.sample.layers},
          {"measured_s", number(judged.sample.time)},
          {"predicted", prediction_fields(judged.prediction)},
          {"error", number(judged.error())}};
}

Json candidate_fields(const model::Candidate& candidate) {
  return {{"way", way_fields(candidate.way)},
          {"predicted", prediction_fields(candidate.prediction)},
          {"workspace_bytes", number(candidate.workspace.size.si())},
          {"workspace_basis", model::workspace_basis_name(candidate.workspace.basis)},
          {"fits", candidate.fits}};
}

std::string_view verdict(ExitCode code) {
  if (code == ExitCode::ok) return "passed";
  return code == ExitCode::inconclusive ? "inconclusive" : "failed";
}

}  // namespace

std::string roofline_json(const model::KernelJudgement& judgement, const RooflineLimits& limits) {
  Json json{{"schema", "dlscale.roofline_validation"}, {"version", 1}};
  json["verdict"] = verdict(exit_code(judgement, limits));
  json["limits"] = {{"median_abs", number(limits.median)},
                    {"p90_abs", number(limits.p90)},
                    {"choice_loss", number(limits.choice)}};
  json["training_kernels"] = judgement.training_kernels;
  json["not_judged"] = judgement.not_judged;
  json["not_told"] = Json::object();
  for (const auto& [algorithm, times] : judgement.not_told) json["not_told"][algorithm] = times;
  json["algorithms"] = Json::array();
  for (const auto& errors : judgement.algorithms) {
    json["algorithms"].push_back(errors_fields(errors));
  }
  json["algorithms_of_both_halves"] = Json::array();
  for (const auto& errors : judgement.algorithms_of_both_halves) {
    json["algorithms_of_both_halves"].push_back(errors_fields(errors));
  }
  add_choice_fields(judgement.choice, json);
  json["choice_of_both_halves"] = both_halves_field(judgement.choice_of_both_halves);
  json["samples"] = Json::array();
  for (const auto& judged : judgement.samples) json["samples"].push_back(sample_fields(judged));
  return dump(json);
}

std::string choice_json(const std::string& network, int batch, std::optional<Bytes> limit,
                        const std::vector<LayerChoice>& choices) {
  Json json{{"schema", "dlscale.choice"}, {"version", 1}};
  json["network"] = network;
  json["batch"] = batch;
  json["workspace_limit_bytes"] = limit ? number(limit->si()) : Json(nullptr);
  json["layers"] = Json::array();
  for (const LayerChoice& choice : choices) {
    Json layer{{"layer", choice.layer},
               {"kernel", choice.kernel},
               {"pass", pass_name(choice.pass)},
               {"candidates", Json::array()},
               {"untold", Json::array()}};
    for (const auto& candidate : choice.candidates) {
      layer["candidates"].push_back(candidate_fields(candidate));
    }
    for (const model::Way& way : choice.untold) layer["untold"].push_back(way_fields(way));
    json["layers"].push_back(std::move(layer));
  }
  return dump(json);
}

}  // namespace dlscale::report
