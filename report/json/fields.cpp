#include "report/json/fields.hpp"

#include <cmath>

#include "core/error.hpp"
#include "core/fuse.hpp"
#include "report/schedule_text.hpp"

namespace dlscale::report {

Json number(double value) {
  EXPECT(std::isfinite(value));
  return value;
}

Json number(Seconds value) {
  return number(value.si());
}

Json optional_number(const std::optional<double>& value) {
  return value ? number(*value) : Json(nullptr);
}

Json optional_number(const std::optional<Seconds>& value) {
  return value ? number(*value) : Json(nullptr);
}

Json run_fields(const Run& run) {
  Json json{{"network", run.network},
            {"cluster", run.cluster},
            {"ranks", run.ranks},
            {"ranks_per_node", run.ranks_per_node},
            {"batch", run.batch},
            {"dtype", dtype_name(run.dtype)},
            {"schedule", schedule_name(run.schedule)},
            {"synchronisation", synchronisation_name(run.synchronisation)}};
  for (const ScheduleField& field : schedule_fields(run)) {
    Json& value = json[std::string(field.key)];
    if (field.value.empty()) continue;
    value = field.kind == ScheduleField::Kind::word ? Json(field.value) : Json::parse(field.value);
  }
  json["cores_per_rank"] = run.cores_per_rank;
  json["compute_threads"] = run.compute_threads;
  json["loader_threads"] = run.loader_threads;
  json["prefetch"] = run.prefetch;
  json["input_copy"] = input_copy_name(run.input_copy);
  json["normalise"] = normalisation_name(run.normalisation);
  json["launch"] = launch_name(run.launch);
  json["fuse"] = fusion_name(run);
  return json;
}

Json time_fields(const model::IterationTime& time) {
  return {{"t_iter_s", number(time.total)}, {"t_io_s", number(time.io)},
          {"t_h2d_s", number(time.h2d)},    {"t_f_s", number(time.forward)},
          {"t_b_s", number(time.backward)}, {"t_comm_exposed_s", number(time.exposed_comm)},
          {"t_u_s", number(time.update)},   {"t_comm_hidden_s", number(time.hidden_comm)},
          {"t_load_s", number(time.load)}};
}

namespace {

Json slowdown_fields(const model::Estimate<double>& slowdown) {
  return {{"value", number(slowdown.value)},
          {"low", number(slowdown.low)},
          {"high", number(slowdown.high)}};
}

Json contention_fields(const std::vector<model::UsedContention>& all) {
  Json list = Json::array();
  for (const model::UsedContention& one : all) {
    list.push_back({{"collective", one.collective},
                    {"beside", model::work_kind_name(one.work)},
                    {"from_bytes", number(one.range.from.si())},
                    {"to_bytes", number(one.range.to.si())},
                    {"compute_slowdown", slowdown_fields(one.range.compute)},
                    {"messages_slowdown", slowdown_fields(one.range.messages)},
                    {"measured", one.measured},
                    {"source", one.source}});
  }
  return list;
}

}  // namespace

Json basis_fields(const model::PhaseSources& sources) {
  const auto name = [](const std::optional<model::TimeSource>& source) {
    return source ? Json(model::time_source_name(*source)) : Json(nullptr);
  };
  return {{"load", name(sources.load)},
          {"h2d", name(sources.h2d)},
          {"forward", name(sources.forward)},
          {"backward", name(sources.backward)},
          {"communication", name(sources.communication)},
          {"update", name(sources.update)}};
}

Json prediction_fields(const model::Prediction& prediction) {
  Json json;
  json["run"] = run_fields(prediction.run);
  json["time"] = time_fields(prediction.time);
  json["t_iter_low_s"] = optional_number(prediction.low);
  json["t_iter_high_s"] = optional_number(prediction.high);
  json["interval"] = prediction.low ? Json(model::prediction_interval) : Json(nullptr);
  json["basis"] = basis_fields(prediction.sources);
  json["closed_form"] =
      prediction.closed_form ? time_fields(*prediction.closed_form) : Json(nullptr);
  json["closed_form_absent"] = prediction.closed_form_absent;
  json["images_per_s"] = number(prediction.images_per_s);
  json["speedup"] = number(prediction.speedup);
  json["efficiency"] = number(prediction.efficiency);
  json["bound"] = prediction.bound;
  json["contention"] = contention_fields(prediction.contention);
  json["notes"] = Json::array();
  for (const model::Note& note : prediction.notes) json["notes"].push_back(note.text());
  return json;
}

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dlscale::report
