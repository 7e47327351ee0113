#include "bench/quiet/device_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::bench {

DeviceWitness open_witness(const std::string& bus_id) {
  try {
    return {backend::open_nvml(bus_id), {}};
  } catch (const Unsupported& error) {
    return {nullptr, error.what()};
  }
}

std::optional<DeviceWitness> witness_of(const backend::ComputeDevice& device) {
  if (!device.own_memory()) return std::nullopt;
  return open_witness(device.bus_id());
}

DeviceWatch::DeviceWatch(backend::DeviceMonitor& monitor, std::chrono::milliseconds period)
    : monitor_(&monitor),
      states_{monitor.read()},
      thread_([this, period](const std::stop_token& stop) { keep_reading(stop, period); }) {}

void DeviceWatch::keep_reading(const std::stop_token& stop, std::chrono::milliseconds period) {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait_for(lock, stop, period, [this] { return anew_; });
    const bool anew = std::exchange(anew_, false);
    if (stop.stop_requested() && !anew) return;
    lock.unlock();
    if (anew) states_.clear();
    states_.push_back(monitor_->read());
    lock.lock();
  }
}

void DeviceWatch::start_anew() {
  {
    const std::scoped_lock lock(mutex_);
    anew_ = true;
  }
  wake_.notify_one();
}

std::vector<backend::DeviceState> DeviceWatch::stop() {
  thread_.request_stop();
  thread_.join();
  states_.push_back(monitor_->read());
  return std::move(states_);
}

namespace {

/// Warns of other processes on the device with most of them, so that all ranks warn alike.
void warn_of_others(Measurement& measurement, const DeviceWitness& witness,
                    backend::Communicator& communicator) {
  const std::optional<int> processes =
      witness.monitor ? witness.monitor->processes() : std::nullopt;
  double others = std::max(0, processes.value_or(1) - 1);  // excludes this process
  communicator.all_reduce(std::span(&others, 1), backend::Reduction::max);
  if (others < 1) return;
  measurement.warnings.push_back(fmt::format(
      "{:.0f} other process{} the GPU open for computing when this was measured, so times may be "
      "those of a GPU that is shared. End what nvidia-smi lists, or take another GPU.",
      others, others < 2 ? " had" : "es had"));
}

}  // namespace

void add_witnessed(Measurement& measurement, const DeviceWitness& witness,
                   std::span<const backend::DeviceState> mine, std::size_t runs,
                   backend::Communicator& communicator) {
  if (measurement.series.empty()) return;  // likewise on all ranks
  if (!witness.monitor) measurement.warnings.push_back(witness.absent_because);
  add_conditions(measurement, mine, runs, communicator);
  warn_of_others(measurement, witness, communicator);
}

Measurement with_conditions(const DeviceWitness& witness, backend::Communicator& communicator,
                            const std::function<Measurement(std::size_t& runs)>& measure) {
  std::size_t runs = 0;
  std::vector<backend::DeviceState> states;
  Measurement measurement;
  if (witness.monitor) {
    DeviceWatch watch(*witness.monitor);
    measurement = measure(runs);
    states = watch.stop();
  } else {
    measurement = measure(runs);
  }
  add_witnessed(measurement, witness, states, runs, communicator);
  return measurement;
}

}  // namespace dlscale::bench
