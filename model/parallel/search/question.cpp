#include "model/parallel/search/question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include "core/base/error.hpp"
#include "core/parallel/schedule/family.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/suggest.hpp"
#include "core/text/words.hpp"

namespace dlscale::model::parallel_search {
namespace {

constexpr Words<Objective, 3> objectives{
    {{Objective::time, "time"}, {Objective::cost, "cost"}, {Objective::energy, "energy"}}};
static_assert(in_order(objectives));

struct NumberKey {
  std::string_view name;
  std::vector<int> PlanChoices::*values;
  int least;
  int most;
};
constexpr int largest_number = 1'000'000;
constexpr std::array<NumberKey, 9> number_keys{{
    {"tensor", &PlanChoices::tensor, 1, largest_number},
    {"context", &PlanChoices::context, 1, largest_number},
    {"stages", &PlanChoices::stages, 1, largest_number},
    {"data", &PlanChoices::data, 1, largest_number},
    {"experts", &PlanChoices::experts, 1, largest_number},
    {"chunks", &PlanChoices::chunks, 1, largest_number},
    {"micro_batch", &PlanChoices::micro_batch, 1, largest_number},
    {"zero", &PlanChoices::zero, 0, 3},
    {"zero_group", &PlanChoices::zero_group, 0, largest_number},
}};

struct FlagKey {
  std::string_view name;
  std::vector<int> PlanChoices::*values;
};
constexpr std::array<FlagKey, 3> flag_keys{{{"sequence_parallel", &PlanChoices::sequence_parallel},
                                            {"tensor_overlap", &PlanChoices::tensor_overlap},
                                            {"compile", &PlanChoices::compile}}};

int number_of(const NumberKey& key, std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= key.least &&
      number <= key.most) {
    return number;
  }
  throw ConfigError(
      fmt::format("The choices of plans have {}={}. Write a whole number from {} to {}.", key.name,
                  escape_for_terminal(text), key.least, key.most));
}

bool read_words(std::string_view key, const std::vector<std::string_view>& values,
                PlanChoices& choices) {
  if (key == "schedule") {
    for (const std::string_view value : values) {
      choices.schedules.emplace_back(parallel::find_schedule(value).name);
    }
    return true;
  }
  if (key == "recompute") {
    for (const std::string_view value : values) {
      choices.recompute.push_back(parallel::parse_recompute(value));
    }
    return true;
  }
  const auto flag = std::ranges::find(flag_keys, key, &FlagKey::name);
  if (flag == flag_keys.end()) return false;
  for (const std::string_view value : values) {
    if (value != "true" && value != "false") {
      throw ConfigError(fmt::format("The choices of plans have {}={}. Write true or false.", key,
                                    escape_for_terminal(value)));
    }
    (choices.*flag->values).push_back(value == "true" ? 1 : 0);
  }
  return true;
}

[[noreturn]] void refuse_key(std::string_view key) {
  std::vector<std::string> known{"schedule", "recompute"};
  for (const FlagKey& one : flag_keys) known.emplace_back(one.name);
  for (const NumberKey& one : number_keys) known.emplace_back(one.name);
  throw ConfigError(fmt::format("The choices of plans have \"{}\", which none is named after. {}",
                                escape_for_terminal(key), suggestion(key, known)));
}

}  // namespace

PlanChoices parse_choices(std::string_view text) {
  PlanChoices choices;
  std::set<std::string_view> seen;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const std::string_view key = part.substr(0, equals);
    if (equals == std::string_view::npos) {
      throw ConfigError(fmt::format(
          "The choices of plans have \"{}\" without a value. Write, for example, \"tensor=4/8\".",
          escape_for_terminal(part)));
    }
    if (!seen.insert(key).second) {
      throw ConfigError(fmt::format(
          "The choices of plans have {} twice. Write its values once, with slashes between them.",
          escape_for_terminal(key)));
    }
    const std::vector<std::string_view> values = split(part.substr(equals + 1), '/');
    const auto number = std::ranges::find(number_keys, key, &NumberKey::name);
    if (number != number_keys.end()) {
      for (const std::string_view value : values) {
        (choices.*number->values).push_back(number_of(*number, value));
      }
    } else if (!read_words(key, values, choices)) {
      refuse_key(key);
    }
  }
  return choices;
}

Objective parse_objective(std::string_view name) {
  return value_of("goal of parallel plans", name, objectives);
}

std::string_view objective_name(Objective objective) {
  return name_of(objective, objectives);
}

double score_of(Objective objective, int gpus, double seconds, double joules) {
  switch (objective) {
    case Objective::time:
      return seconds;
    case Objective::cost:
      return seconds * gpus;
    case Objective::energy:
      return joules;
  }
  return seconds;  // every case is above
}

AskedFramework asked_framework(std::string name) {
  const FrameworkWays* const ways = ways_of(name);
  return {std::move(name), ways};
}

std::vector<AskedFramework> all_frameworks() {
  std::vector<AskedFramework> all;
  for (const FrameworkWays& ways : framework_ways())
    all.push_back({std::string(ways.software), &ways});
  return all;
}

}  // namespace dlscale::model::parallel_search
