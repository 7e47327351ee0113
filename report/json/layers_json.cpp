#include "report/json/fields.hpp"
#include "report/json/json.hpp"

namespace dlscale::report {
namespace {

Json source_field(const std::optional<model::TimeSource>& source) {
  return source ? Json(time_source_name(*source)) : Json(nullptr);
}

Json layer_fields(const Layer& layer, const model::LayerTime& time) {
  return {{"layer", layer.name},
          {"kind", kind_name(layer.kind)},
          {"t_f_s", number(time.forward)},
          {"t_f_from", source_field(time.forward_source)},
          {"t_b_s", number(time.backward)},
          {"t_b_from", source_field(time.backward_source)},
          {"gradient_bytes", number(time.gradient.si())},
          {"t_comm_s", number(time.communication)},
          {"t_comm_from", source_field(time.communication_source)}};
}

}  // namespace

std::string layers_json(const Network& network, std::span<const model::LayerTimes> runs) {
  Json json{{"schema", "dlscale.layers"}, {"version", 1}, {"runs", Json::array()}};
  for (const model::LayerTimes& times : runs) {
    Json layers = Json::array();
    for (const model::LayerTime& time : times.layers) {
      layers.push_back(layer_fields(network.layer(time.layer), time));
    }
    json["runs"].push_back(
        {{"run", run_fields(times.run)}, {"layers", std::move(layers)}, {"notes", times.notes}});
  }
  return dump(json);
}

}  // namespace dlscale::report
