#include "report/json/fields.hpp"
#include "report/sweep_table.hpp"

namespace dlscale::report {
namespace {

Json best_field(SweepMark mark) {
  if (mark == SweepMark::none) return nullptr;
  return mark == SweepMark::of_all ? "all" : "ranks";
}

Json link_fields(const std::optional<LinkSpec>& link) {
  if (!link) return nullptr;
  return {{"bandwidth_bytes_per_s", number(link->bandwidth.si())},
          {"latency_s", number(link->latency)}};
}

}  // namespace

std::string sweep_json(const Sweep& sweep, const std::vector<SweepMark>& marks) {
  Json json{{"schema", "dlscale.sweep"}, {"version", 1}, {"rows", Json::array()}};
  for (std::size_t i = 0; i < sweep.rows.size(); ++i) {
    Json row = prediction_fields(sweep.rows[i].prediction);
    row["inter_node"] = link_fields(sweep.rows[i].link);
    row["best"] = best_field(marks.at(i));
    json["rows"].push_back(std::move(row));
  }
  json["left_out"] = sweep.left_out;
  json["speedup_over"] = sweep.speedup_over;
  return dump(json);
}

}  // namespace dlscale::report
