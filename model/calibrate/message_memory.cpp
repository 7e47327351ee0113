#include "model/calibrate/message_memory.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "core/base/error.hpp"
#include "core/results/usable_rows.hpp"

namespace dlscale::model {
namespace {

bool is_of_messages(const Measurement& row) {
  return row.benchmark == "comm" && is_timed(row) && row.axes.contains("bytes");
}

/// Whether a row is a computation of training, which has the series "give" on devices. Other rows
/// also name a backend, but say nothing about the memory of gradients.
bool is_computed_by(const Measurement& row, const std::string& backend) {
  constexpr std::array of_training{"conv", "gemm", "update"};
  const auto found = row.axes.find("backend");
  return std::ranges::find(of_training, row.benchmark) != of_training.end() && is_timed(row) &&
         found != row.axes.end() && found->second == backend;
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

Group messages_in(MessageMemory memory, const Group& all) {
  Group chosen;
  std::ranges::copy_if(all, std::back_inserter(chosen), [memory](const Sourced& one) {
    return memory_of(*one.measurement) == memory;
  });
  return chosen;
}

}  // namespace dlscale::model
