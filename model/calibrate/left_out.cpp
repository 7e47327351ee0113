#include "model/calibrate/left_out.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <vector>

#include "core/results/usable_rows.hpp"
#include "model/calibrate/measured_on.hpp"
#include "model/calibrate/training_rows.hpp"

namespace dlscale::model {
namespace {

/// The value of an axis; empty if the row has no such axis.
std::string axis(const Measurement& row, std::string_view name) {
  const auto found = row.axes.find(std::string(name));
  return found == row.axes.end() ? "" : found->second;
}

/// The reason if a row is under another condition than the chosen one; otherwise empty.
std::string other_than(const Measurement& row, std::string_view name, const std::string& chosen,
                       std::string_view by_whom) {
  const std::string value = axis(row, name);
  if (value.empty() || value == chosen) return "";
  return fmt::format("{} {} ({} {})", name, value, by_whom, chosen);
}

std::string why_not_kernel(const Measurement& row, const Machine& machine,
                           const CalibrateOptions& options) {
  const std::string algorithm = axis(row, "algorithm");
  if (!algorithm.empty() && algorithm != "chosen") {
    return "algorithms that were named (training takes the one chosen)";
  }
  if (row.axes.contains("layout")) return "layouts that were named (training takes the one chosen)";
  if (!has_normal_values(row)) return fmt::format("values {}", axis(row, "values"));
  if (std::string why = other_than(row, "backend", machine.measured_on.backend, "chosen:");
      !why.empty()) {
    return why;
  }
  return other_than(row, "cache", options.cache, "chosen:");
}

std::string why_not_memory(const Measurement& row, const Machine& machine) {
  if (row.axes.contains("isa")) return "loops of one instruction set, which training does not run";
  return other_than(row, "backend", machine.measured_on.backend, "chosen:");
}

std::string why_not_update(const Measurement& row, const Machine& machine) {
  if (std::string why = other_than(row, "cache", "cold", "training has"); !why.empty()) return why;
  return other_than(row, "backend", machine.measured_on.backend, "chosen:");
}

/// Whether a closed form of one of our own algorithms was fitted to the row.
bool is_fitted(const Machine& machine, const Measurement& row) {
  return std::ranges::any_of(machine.algorithms, [&](const AlgorithmFit& fit) {
    return fit.asked == axis(row, "algorithm") && fit.carrier.collective == axis(row, "collective");
  });
}

std::string why_not_messages(const Measurement& row, const Machine& machine,
                             MessageMemory gradients, const CalibrateOptions& options,
                             const TrainingRows& rows) {
  if (row.axes.contains("message")) return "messages of a replay";
  if (!row.axes.contains("bytes")) return "messages without a size";
  if (axis(row, "ranks") == "1") return "1 rank, which sends nothing";
  if (memory_of(row) != gradients) {
    return fmt::format("memory {} (gradients lie in the {}'s)", to_string(memory_of(row)),
                       to_string(gradients));
  }
  for (const MessageAxis& known : message_axes) {
    if (known.name == "algorithm") continue;
    if (known.name == "in_place" && rows.stands_in(row)) continue;
    const auto usual = in_training(known, axis(row, "collective"));
    std::string why = other_than(row, known.name, std::string(usual), "training has");
    if (!why.empty()) return why;
  }
  if (std::string why = other_than(row, "cache", options.message_cache, "chosen:"); !why.empty()) {
    return why;
  }
  const std::string algorithm = axis(row, "algorithm");
  if (algorithm.empty() || algorithm == "library" || is_fitted(machine, row)) return "";
  return fmt::format("algorithm {}, of which no closed form was fitted", algorithm);
}

/// The reason why a row was left out; empty if it was used, or replaced by better ones of its kind.
std::string why_not(const Measurement& row, const Machine& machine, MessageMemory gradients,
                    const CalibrateOptions& options, const TrainingRows& rows) {
  if (!is_timed(row)) return fmt::format("status {}", status_name(row.status));
  if (row.benchmark == "conv") return why_not_kernel(row, machine, options);
  if (row.benchmark == "update") return why_not_update(row, machine);
  if (row.benchmark == "memory") return why_not_memory(row, machine);
  if (row.benchmark == "comm") return why_not_messages(row, machine, gradients, options, rows);
  if (row.benchmark == "io") return other_than(row, "source", options.source, "chosen:");
  return "";
}

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

std::vector<LeftOutRows> left_out(std::span<const ResultFile> results, const Machine& machine,
                                  const CalibrateOptions& options) {
  const MessageMemory gradients = message_memory(results, machine.measured_on.backend);
  TrainingRows messages;
  for (const ResultFile& file : results) {
    for (const Measurement& row : file.measurements) {
      if (row.benchmark == "comm" && memory_of(row) == gradients) messages.note(row);
    }
  }
  std::map<std::string, std::size_t> reasons;
  for (const ResultFile& file : results) {
    for (const Measurement& row : file.measurements) {
      const std::string why = why_not(row, machine, gradients, options, messages);
      if (!why.empty()) ++reasons[fmt::format("bench {}, {}", row.benchmark, why)];
    }
  }
  std::vector<LeftOutRows> all;
  for (const auto& [why, rows] : reasons) all.push_back({rows, why});
  return all;
}

std::string to_text(const LeftOutRows& left) {
  return fmt::format("{} {} of {}", left.rows, left.rows == 1 ? "row" : "rows", left.why);
}

bool is_empty(const Machine& machine) {
  return machine.kernels.empty() && machine.collectives.empty() && machine.algorithms.empty() &&
         machine.h2d.empty() && machine.update.empty() && machine.loaders.empty() &&
         machine.memory_bandwidth.empty() && machine.contention.empty();
}

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
