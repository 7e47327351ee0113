#include "app/gate/run_conditions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "core/base/statistics.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::app {
namespace {

/// NVML's nvmlClocksEventReasonSwPowerCap.
constexpr std::uint64_t power_limit = 0x04;

/// The readings of all ranks that are valid integers.
std::vector<double> readings_of(const Measurement& row, const char* series) {
  constexpr double most = 9007199254740992.0;  // a double holds every integer up to it
  std::vector<double> readings;
  const auto found = row.series.find(series);
  if (found == row.series.end()) return readings;
  for (const std::vector<double>& rank : found->second.samples) {
    std::ranges::copy_if(rank, std::back_inserter(readings),
                         [](double value) { return value >= 0 && value < most; });
  }
  return readings;
}

void add_reasons(const std::vector<double>& readings, GpuConditions& gpu) {
  std::uint64_t reasons = 0;
  std::size_t limited = 0;
  for (const double reading : readings) {
    const auto bits = static_cast<std::uint64_t>(reading);
    reasons |= bits & ~power_limit;
    limited += (bits & power_limit) != 0 ? 1 : 0;
  }
  for (const std::string& name : throttle_names(reasons)) {
    if (std::ranges::find(gpu.slowed_by, name) == gpu.slowed_by.end()) {
      gpu.slowed_by.push_back(name);
    }
  }
  const double share = static_cast<double>(limited) / static_cast<double>(readings.size());
  gpu.power_limited = std::max(gpu.power_limited, share);
}

void add_clock(double clock, GpuConditions& gpu) {
  gpu.clock_hz = gpu.clock_hz > 0 ? std::min(gpu.clock_hz, clock) : clock;
}

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

}  // namespace

void add_conditions(const Measurement& row, const std::string& key, RunConditions& conditions) {
  if (row.status == Status::unstable) conditions.unsettled.push_back(key);
  const std::vector<double> reasons = readings_of(row, "throttle_reasons");
  const std::vector<double> clocks = readings_of(row, "processor_clock");
  if (reasons.empty() && clocks.empty()) return;
  GpuConditions& gpu = conditions.gpus[key];
  if (!reasons.empty()) add_reasons(reasons, gpu);
  if (!clocks.empty()) add_clock(median(clocks), gpu);
}

std::string disturbance(const std::map<std::string, RunConditions>& runs) {
  std::map<std::string, OfRuns> by_key;
  for (const auto& [name, conditions] : runs) {
    if (conditions.slowed_by_heat.value_or(0) > 0) {
      return fmt::format("processors of this machine were slowed by heat in the run of {}", name);
    }
    for (const auto& [key, gpu] : conditions.gpus) {
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

}  // namespace dlscale::app
