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

}  // namespace

std::string comparison_json(const ComparisonReport& report) {
  Json json{{"schema", "dlscale.comparison"}, {"version", 1}};
  json["verdict"] = verdict_name(report.verdict);
  json["margin"] = number(report.margin);
  json["rows"] = Json::array();
  for (const Comparison& row : report.rows) json["rows"].push_back(row_fields(row));
  json["only_a"] = report.only_a;
  json["only_b"] = report.only_b;
  json["not_compared"] = report.not_compared;
  json["environment_differences"] = report.environment_differences;
  return dump(json);
}

}  // namespace dlscale::report
