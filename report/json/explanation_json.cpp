#include "report/json/explanation_json.hpp"

#include <vector>

#include "report/json/fields.hpp"

namespace dlscale::report {
namespace {

Json part_fields(const model::PartOfIteration& part) {
  return {{"part", part.name},
          {"busy_s", number(part.busy)},
          {"t_iter_without_s", number(part.without)}};
}

Json input_fields(const model::Sensitivity& input) {
  return {{"input", input.input},
          {"t_iter_better_s", number(input.better)},
          {"t_iter_worse_s", number(input.worse)}};
}

Json advice_fields(const model::Advice& advice) {
  const bool known = advice.why_not.empty();
  return {{"change", advice.change},
          {"t_iter_s", known ? number(advice.iteration) : Json(nullptr)},
          {"images_per_s", known ? number(advice.images_per_s) : Json(nullptr)},
          {"why_not", known ? Json(nullptr) : Json(advice.why_not)}};
}

template <class T>
Json list_of(const std::vector<T>& all, Json (*fields)(const T&)) {
  Json list = Json::array();
  for (const T& one : all) list.push_back(fields(one));
  return list;
}

}  // namespace

std::string explanation_json(std::span<const model::Explanation> explanations) {
  Json json{{"schema", "dlscale.explanation"},
            {"version", 1},
            {"step", number(model::sensitivity_step)},
            {"explanations", Json::array()}};
  for (const model::Explanation& explanation : explanations) {
    json["explanations"].push_back({{"prediction", prediction_fields(explanation.prediction)},
                                    {"parts", list_of(explanation.parts, part_fields)},
                                    {"inputs", list_of(explanation.inputs, input_fields)},
                                    {"advice", list_of(explanation.advice, advice_fields)}});
  }
  return dump(json);
}

}  // namespace dlscale::report
