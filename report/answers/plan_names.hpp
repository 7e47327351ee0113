#pragma once
#include <set>
#include <string>
#include <vector>

#include "report/table/field_table.hpp"

namespace dlscale::report {

/// A key of a plan and its value: {"tensor", "2"}.
struct PlanSetting {
  std::string key;
  std::string value;
  bool operator==(const PlanSetting&) const = default;
};

/// The settings that the text of a plan in JSON states, its degrees first.
std::vector<PlanSetting> settings_of(const Json& plan);

/// The settings with these keys in words: "tensor 2, stages 2 × 10, selective"; empty without one.
/// `is_prose`: "stages 2 × 10 chunks, selective recomputation".
std::string setting_words(const std::vector<PlanSetting>& settings,
                          const std::set<std::string>& keys, bool is_prose);

/// Names plans in prose by their degrees, recomputation and sharding: "tensor 2, stages 2 × 10
/// chunks, data 8, selective recomputation". Lesser settings are named if plans would otherwise
/// have the same name.
class PlanNames {
 public:
  explicit PlanNames(const Json& plans);
  [[nodiscard]] std::string operator()(const Json& plan) const;
  /// The name without the replicas, which the ranks decide.
  [[nodiscard]] std::string without_data(const Json& plan) const;

 private:
  std::set<std::string> keys_;
};

}  // namespace dlscale::report
