#include "model/calibrate/message_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "core/error.hpp"
#include "core/usable_rows.hpp"

namespace dlscale::model {
namespace {

bool is_of_messages(const Measurement& row) {
  return row.benchmark == "comm" && is_timed(row) && row.axes.contains("bytes");
}

/// Work beside messages is some of "comm", too, and says nothing of where gradients lie.
bool is_computed_by(const Measurement& row, const std::string& backend) {
  const auto found = row.axes.find("backend");
  return row.benchmark != "comm" && is_timed(row) && found != row.axes.end() &&
         found->second == backend;
}

/// Gradients in memory of GPUs do not travel so, and nothing tells how much faster they do.
void refuse_carried(const Group& rows) {
  const auto carried = std::ranges::find_if(
      rows, [](const Sourced& one) { return is_carried_by_gpu(*one.measurement); });
  if (carried == rows.end()) return;
  throw ConfigError(fmt::format(
      "{}: its messages went from memory of the host to memory of the host, through one block of "
      "each GPU ({}), so they do not tell how long gradients take from GPU to GPU. Leave this file "
      "out, and measure those with bench comm --memory device, or predict with --all-reduce nccl, "
      "by NCCL's own cost model.",
      carried->file, carried->axis("library")));
}

[[noreturn]] void refuse_others(MessageMemory wanted, const Sourced& one,
                                const std::string& backend) {
  if (wanted == MessageMemory::device) {
    throw ConfigError(fmt::format(
        "{}: its messages lie in memory of the host, and gradients of {} in its device's, from "
        "where they take another way. Leave this file out, and measure them with bench comm "
        "--memory device --backend {}, or predict with --all-reduce nccl, by NCCL's own cost "
        "model.",
        one.file, backend, backend));
  }
  throw ConfigError(fmt::format(
      "{}: its messages lie in memory of a device, and gradients of {} in the host's, from where "
      "they take another way. Leave this file out, and measure them with bench comm --memory host.",
      one.file, backend.empty() ? "a processor" : backend));
}

}  // namespace

std::string_view to_string(MessageMemory memory) {
  return memory == MessageMemory::device ? device_memory : "host";
}

MessageMemory memory_of(const Measurement& measurement) {
  return is_of_device_memory(measurement) ? MessageMemory::device : MessageMemory::host;
}

MessageMemory message_memory(std::span<const ResultFile> results, const std::string& backend) {
  bool computed = false;
  std::set<MessageMemory> measured;
  for (const ResultFile& file : results) {
    for (const Measurement& row : file.measurements) {
      if (is_of_messages(row)) measured.insert(memory_of(row));
      if (!is_computed_by(row, backend)) continue;
      if (row.series.contains("give")) return MessageMemory::device;
      computed = true;
    }
  }
  if (computed || measured.empty()) return MessageMemory::host;
  if (measured.size() == 1) return *measured.begin();
  throw ConfigError(
      "the results of bench comm are of messages in memory of the host and in memory of a device, "
      "which one machine cannot mix, and nothing tells where its gradients lie. Give results of "
      "bench conv, too, or those of one memory.");
}

Group messages_in(MessageMemory memory, const Group& all, const std::string& backend) {
  Group chosen;
  std::ranges::copy_if(all, std::back_inserter(chosen), [memory](const Sourced& one) {
    return memory_of(*one.measurement) == memory;
  });
  if (memory == MessageMemory::host) refuse_carried(chosen);
  const auto is_message = [](const Sourced& one) { return is_of_messages(*one.measurement); };
  const auto other = std::ranges::find_if(all, is_message);
  if (other == all.end() || std::ranges::any_of(chosen, is_message)) return chosen;
  refuse_carried(all);
  refuse_others(memory, *other, backend);
}

}  // namespace dlscale::model
