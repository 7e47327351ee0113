#include "report/answers/plan_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "report/answers/parallel_words.hpp"

namespace dlscale::report {
namespace {

/// Degrees, in the order of their words.
constexpr std::array<std::string_view, 7> degrees{"tensor", "context", "branches", "stages",
                                                  "chunks", "experts", "data"};

bool is_degree(const std::string& key) {
  return std::ranges::find(degrees, key) != degrees.end();
}

bool is_of_one_rank(const PlanSetting& one) {
  return is_degree(one.key) && one.value == "1";
}

/// Whether every name has the setting: sharded optimiser states alone are usual.
bool is_main(const PlanSetting& one) {
  return is_degree(one.key) || one.key == "recompute" || (one.key == "zero" && one.value > "1");
}

std::string words_of_one(const PlanSetting& one, bool is_prose) {
  if (is_degree(one.key)) return one.key + " " + one.value;
  if (one.key == "recompute") return one.value + (is_prose ? " recomputation" : "");
  if (one.key == "schedule" || one.key == "framework") return one.value;
  if (one.key == "zero") return "ZeRO " + one.value;
  if (one.key == "gpus") return "GPUs " + one.value;
  if (one.key == "micro_batch") return "micro-batch " + one.value;
  return one.key + "=" + one.value;
}

}  // namespace

std::vector<PlanSetting> settings_of(const Json& plan) {
  std::vector<PlanSetting> settings;
  std::istringstream text(plan_text(plan));
  for (std::string one; std::getline(text, one, ',');) {
    const std::size_t middle = std::min(one.find('='), one.size() - 1);
    settings.push_back({one.substr(0, middle), one.substr(middle + 1)});
  }
  std::ranges::stable_sort(settings, {}, [](const PlanSetting& one) {
    return std::ranges::find(degrees, one.key) - degrees.begin();
  });
  return settings;
}

std::string setting_words(const std::vector<PlanSetting>& settings,
                          const std::set<std::string>& keys, bool is_prose) {
  std::vector<std::string> words;
  bool is_after_stages = false;
  for (const PlanSetting& one : settings) {
    if (!keys.contains(one.key)) continue;
    if (one.key == "chunks" && is_after_stages) {
      words.back() += fmt::format(" × {}{}", one.value, is_prose ? " chunks" : "");
    } else {
      words.push_back(words_of_one(one, is_prose));
    }
    is_after_stages = one.key == "stages";
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

PlanNames::PlanNames(const Json& plans) {
  std::set<std::string> texts;
  std::map<std::pair<std::string, std::string>, std::size_t> lesser;
  for (const Json& plan : plans) {
    texts.insert(plan_text(plan));
    for (const PlanSetting& one : settings_of(plan)) {
      if (is_main(one)) keys_.insert(one.key);
      if (!is_main(one)) ++lesser[{one.key, one.value}];
    }
  }
  std::set<std::string> names;
  for (const Json& plan : plans) names.insert((*this)(plan));
  if (names.size() == texts.size()) return;
  for (const auto& [setting, count] : lesser) {
    if (count < plans.size()) keys_.insert(setting.first);
  }
}

std::string PlanNames::operator()(const Json& plan) const {
  std::vector<PlanSetting> settings = settings_of(plan);
  const bool is_of_one = std::ranges::all_of(settings, is_of_one_rank);
  if (!is_of_one) std::erase_if(settings, is_of_one_rank);
  const std::string name = setting_words(settings, keys_, true);
  return name.empty() ? plan_words(plan) : name;
}

std::string PlanNames::without_data(const Json& plan) const {
  std::vector<PlanSetting> settings = settings_of(plan);
  std::erase_if(settings, [](const PlanSetting& one) { return one.key == "data"; });
  const std::string name = setting_words(settings, keys_, true);
  return name.empty() ? "data parallelism" : name;
}

}  // namespace dlscale::report
