#include "regression/gate/round.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace dlscale::regression {
namespace {

/// Conditions of one key, by run.
using OfRuns = std::map<std::string, GpuConditions>;

std::string kept_back_differently(const OfRuns& runs) {
  const auto by_clock = [](const auto& a, const auto& b) {
    return a.second.clock_hz < b.second.clock_hz;
  };
  const auto [slow, fast] = std::ranges::minmax_element(runs, by_clock);
  if (slow->second.clock_hz > 0 &&
      slow->second.clock_hz < least_clock_share * fast->second.clock_hz) {
    return fmt::format("the clock of the GPU was {:.0f} MHz in the run of {} and {:.0f} MHz in {}",
                       slow->second.clock_hz * 1e-6, slow->first, fast->second.clock_hz * 1e-6,
                       fast->first);
  }
  const auto by_power = [](const auto& a, const auto& b) {
    return a.second.power_limited < b.second.power_limited;
  };
  const auto [free, limited] = std::ranges::minmax_element(runs, by_power);
  if (limited->second.power_limited - free->second.power_limited > most_power_difference) {
    return fmt::format("a limit of power held the GPU back in the run of {} and not in {}",
                       limited->first, free->first);
  }
  return "";
}

using Facts = std::map<std::string, std::string>;

/// The first fact that differs, with both values; empty if none does.
std::string difference(const Facts& a, const Facts& b) {
  for (const auto& [name, value] : a) {
    const auto other = b.find(name);
    const std::string theirs = other == b.end() ? "" : other->second;
    if (value != theirs) return fmt::format("{}: \"{}\" and \"{}\"", name, value, theirs);
  }
  return "";
}

}  // namespace

std::string disturbance(const Round& round) {
  std::map<std::string, OfRuns> by_key;
  for (const auto& [name, run] : round.runs) {
    if (run.conditions.slowed_by_heat.value_or(0) > 0) {
      return fmt::format("processors of this machine were slowed by heat in the run of {}", name);
    }
    for (const auto& [key, gpu] : run.conditions.gpus) {
      if (!gpu.slowed_by.empty()) {
        return fmt::format("the GPU was slowed in the run of {} ({}; {})", name, key,
                           fmt::join(gpu.slowed_by, ", "));
      }
      by_key[key][name] = gpu;
    }
  }
  for (const auto& [key, of_runs] : by_key) {
    const std::string found = kept_back_differently(of_runs);
    if (!found.empty()) return fmt::format("{} ({})", found, key);
  }
  return "";
}

bool SteadyRounds::is_unsteady() const {
  constexpr std::size_t always_allowed = 3;
  return discarded > std::max(always_allowed, kept.size());
}

SteadyRounds steady_rounds(std::span<const Round> rounds) {
  constexpr std::size_t most_notes = 5;
  SteadyRounds result;
  for (const Round& round : rounds) {
    const std::string found = disturbance(round);
    if (found.empty()) {
      result.kept.push_back(round);
    } else if (++result.discarded <= most_notes) {
      result.notes.push_back(fmt::format("round {} was set aside: {}", round.number, found));
    }
  }
  if (result.discarded > most_notes) {
    result.notes.push_back(
        fmt::format("{} more rounds were set aside", result.discarded - most_notes));
  }
  return result;
}

std::string difference_of_place(const RunOutcome& a, const RunOutcome& b) {
  bool compared = false;
  for (const auto& [name, facts] : a.files) {
    const auto other = b.files.find(name);
    if (other == b.files.end()) continue;
    compared = true;
    const std::string found = difference(facts.machine, other->second.machine);
    if (!found.empty()) return a.files.size() == 1 ? found : fmt::format("{}, {}", name, found);
  }
  return compared ? "" : difference(a.machine, b.machine);
}

bool was_built_anew(const RunOutcome& before, const RunOutcome& run) {
  for (const auto& [name, facts] : run.files) {
    if (facts.build != run.files.begin()->second.build) return true;
    const auto other = before.files.find(name);
    if (other != before.files.end() && other->second.build != facts.build) return true;
  }
  const auto build_of = [](const RunOutcome& one) {
    const auto build = one.program.find("build");
    return build == one.program.end() ? "" : build->second;
  };
  return build_of(run) != build_of(before);
}

}  // namespace dlscale::regression
