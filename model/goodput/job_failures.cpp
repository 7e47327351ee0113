#include "model/goodput/job_failures.hpp"

#include <cmath>
#include <cstddef>
#include <optional>

namespace dlscale::model::goodput {
namespace {

std::size_t index_of(Component component) {
  return static_cast<std::size_t>(component);
}

std::optional<double> stated_h(const StatedMtbf& stated, Component component) {
  switch (component) {
    case Component::device:
      return stated.device_h;
    case Component::host:
      return stated.host_h;
    case Component::network:
      return stated.network_h;
    case Component::software:
      return stated.software_h;
  }
  return {};
}

/// Things of a job that can fail.
double count_of(const CostQuestion& question, Component component) {
  if (component == Component::host) return nodes_of(question);
  if (question.has_gpus) return question.devices;
  return component == Component::device ? 0 : nodes_of(question);
}

/// The seconds to move `size` at a rate, of which 0 means that it is unknown.
Seconds time_to_move(Bytes size, BytesPerSecond rate) {
  return rate.si() > 0 ? size / rate : Seconds();
}

}  // namespace

int nodes_of(const CostQuestion& question) {
  return (question.devices + question.devices_per_node - 1) / question.devices_per_node;
}

std::array<double, component_count> failures_per_s(const CostQuestion& question,
                                                   const FailureFacts& facts, double scale) {
  const auto& rates = facts.rate_h;
  const double of_one = rates[index_of(Component::device)] + rates[index_of(Component::network)] +
                        rates[index_of(Component::software)] +
                        rates[index_of(Component::host)] / question.devices_per_node;
  std::array<double, component_count> failures{};
  for (std::size_t i = 0; i < component_count; ++i) {
    const auto component = static_cast<Component>(i);
    double rate = rates[i] / scale;
    if (const auto hours = stated_h(question.mtbf, component)) rate = 1 / *hours;
    if (question.mtbf.all_h) rate = rates[i] / of_one / *question.mtbf.all_h;
    failures[i] = count_of(question, component) * rate / seconds_an_hour;
  }
  return failures;
}

CheckpointTimes checkpoint_times(const CostQuestion& question, double share, double copies) {
  const CheckpointStorage& storage = question.storage;
  const double disks = storage.shared_by_nodes ? 1 : nodes_of(question);
  const double bytes_written = storage.shared_by_nodes ? 1 : copies;
  const BytesPerSecond all = disks * storage.read;
  const Seconds write = time_to_move(bytes_written * question.state, share * all);
  const Seconds read = time_to_move(question.state, all);
  if (!question.checkpoint.asynchronous) return {write, {}, read};
  const BytesPerSecond to_hosts = static_cast<double>(question.devices) * question.host_link;
  return {time_to_move(question.state, to_hosts), write, read};
}

}  // namespace dlscale::model::goodput
