#include "report/json/fields.hpp"
#include "report/json/json.hpp"

namespace dlscale::report {
namespace {

Json row_fields(const Comparison& row) {
  return {{"key", row.key},
          {"series", row.series},
          {"a_s", number(row.a)},
          {"b_s", number(row.b)},
          {"ratio", number(row.ratio)},
          {"ratio_low", number(row.ratio_low)},
          {"ratio_high", number(row.ratio_high)},
          {"verdict", verdict_name(row.verdict)},
          {"role", row.role == Role::judged ? "judged" : "detail"},
          {"method", row.method}};
}

Json part_fields(const AttributedPart& part) {
  return {{"part", part.series},
          {"before_s", number(part.before)},
          {"after_s", number(part.after)},
          {"share", number(part.share)},
          {"share_low", number(part.share_low)},
          {"share_high", number(part.share_high)}};
}

Json predicted_fields(const std::optional<PredictedChange>& predicted) {
  if (!predicted) return nullptr;
  Json json{{"change", number(predicted->change)}, {"together", number(predicted->together)}};
  json["causes"] = Json::array();
  for (const PredictedCause& cause : predicted->causes) {
    json["causes"].push_back(
        {{"part", cause.part}, {"share", number(cause.share)}, {"moved", cause.moved}});
  }
  return json;
}

Json attribution_fields(const Attribution& attribution) {
  Json json{{"key", attribution.key},
            {"before_s", number(attribution.before)},
            {"after_s", number(attribution.after)},
            {"change", number(attribution.change)},
            {"change_low", number(attribution.change_low)},
            {"change_high", number(attribution.change_high)},
            {"launches", attribution.launches},
            {"sentence", attribution_sentence(attribution)}};
  json["parts"] = Json::array();
  for (const AttributedPart& part : attribution.parts) json["parts"].push_back(part_fields(part));
  json["predicted"] = predicted_fields(attribution.predicted);
  return json;
}

}  // namespace

std::string comparison_json(const ComparisonReport& report) {
  Json json{{"schema", "dlscale.comparison"}, {"version", 1}};
  json["verdict"] = verdict_name(report.verdict);
  json["margin"] = number(report.margin);
  json["rows"] = Json::array();
  for (const Comparison& row : report.rows) json["rows"].push_back(row_fields(row));
  json["only_a"] = report.only_a;
  json["missing"] = report.missing;
  json["only_b"] = report.only_b;
  json["not_compared"] = Json::array();
  json["wrong"] = Json::array();
  for (const NotCompared& each : report.not_compared) {
    json["not_compared"].push_back(each.key + ": " + each.why);
    if (each.verdict == Verdict::wrong) json["wrong"].push_back(each.key);
  }
  json["environment_differences"] = report.environment_differences;
  json["place_differences"] = report.place_differences;
  json["attributions"] = Json::array();
  for (const Attribution& attribution : report.attributions) {
    json["attributions"].push_back(attribution_fields(attribution));
  }
  return dump(json);
}

}  // namespace dlscale::report
