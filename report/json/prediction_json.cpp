#include "report/json/fields.hpp"
#include "report/json/json.hpp"

namespace dlscale::report {

std::string prediction_json(std::span<const model::Prediction> predictions) {
  Json json{{"schema", "dlscale.prediction"}, {"version", 1}, {"predictions", Json::array()}};
  for (const model::Prediction& prediction : predictions) {
    json["predictions"].push_back(prediction_fields(prediction));
  }
  return dump(json);
}

}  // namespace dlscale::report
