#include "app/gate/undisturbed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "app/gate/run_conditions.hpp"

namespace dlscale::app {
namespace {

std::string disturbance_in(const Round& round) {
  std::map<std::string, RunConditions> conditions;
  for (const auto& [arm, run] : round.runs) conditions[arm] = run.conditions;
  return disturbance(conditions);
}

}  // namespace

bool Undisturbed::is_unsteady() const {
  constexpr std::size_t always_allowed = 3;
  return set_aside > std::max(always_allowed, kept.size());
}

Undisturbed undisturbed(std::span<const Round> rounds) {
  constexpr std::size_t most_told = 5;
  Undisturbed result;
  for (const Round& round : rounds) {
    const std::string found = disturbance_in(round);
    if (found.empty()) {
      result.kept.push_back(round);
    } else if (++result.set_aside <= most_told) {
      result.notes.push_back(fmt::format("round {} was set aside: {}", round.number, found));
    }
  }
  if (result.set_aside > most_told) {
    result.notes.push_back(
        fmt::format("{} more rounds were set aside", result.set_aside - most_told));
  }
  return result;
}

}  // namespace dlscale::app
