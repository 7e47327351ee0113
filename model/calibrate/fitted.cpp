#include "model/calibrate/fitted.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

namespace dlscale::model {
namespace {

/// Appends the count and noun, unless the count is 0.
void append(std::vector<std::string>& parts, std::size_t count, const std::string& noun) {
  if (count > 0) parts.push_back(fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s"));
}

/// Text on kernels whose launch time was measured, as for devices beside the host; empty if none.
std::string launches_text(const Machine& machine) {
  const auto launched = std::ranges::count_if(
      machine.kernels, [](const KernelTime& kernel) { return kernel.give.has_value(); });
  return launched == 0 ? "" : fmt::format(" ({} with what launching takes)", launched);
}

std::map<std::string, std::size_t> collectives_by_name(const Machine& machine) {
  std::map<std::string, std::size_t> counts;
  for (const CollectiveFit& fit : machine.collectives) ++counts[fit.collective];
  return counts;
}

}  // namespace

std::string fitted_text(const Machine& machine) {
  std::vector<std::string> parts;
  append(parts, machine.kernels.size(), "kernel time");
  if (!parts.empty()) parts.back() += launches_text(machine);
  append(parts, machine.update.size(), "update fit");
  append(parts, machine.h2d.size(), "copy fit");
  append(parts, machine.memory_bandwidth.size(), "memory bandwidth");
  append(parts, machine.loaders.size(), "loader fit");
  for (const auto& [collective, count] : collectives_by_name(machine)) {
    append(parts, count, collective + " fit");
  }
  append(parts, machine.algorithms.size(), "closed form");
  if (!machine.algorithms.empty()) parts.back() += " of messages";
  if (machine.reduction) parts.emplace_back("the time to add a byte");
  append(parts, machine.contention.size(), "contention fit");
  return parts.empty() ? "nothing" : fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace dlscale::model
