#include "bench/quiet/device_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::bench {
namespace {

using backend::DeviceState;
using States = std::span<const DeviceState>;

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

constexpr std::size_t least_steps = 10;

struct Condition {
  std::string_view series;
  std::string_view unit;
  std::optional<double> (*of)(const DeviceState&);
};

/// Throttle reasons as a number, which is exact for their few bits.
std::optional<double> reasons_of(const DeviceState& state) {
  if (!state.throttle_reasons) return {};
  return static_cast<double>(*state.throttle_reasons);
}

constexpr std::array conditions{
    Condition{"processor_clock", "Hz", [](const DeviceState& s) { return s.processor_clock_hz; }},
    Condition{"memory_clock", "Hz", [](const DeviceState& s) { return s.memory_clock_hz; }},
    Condition{"power", "W", [](const DeviceState& s) { return s.power_w; }},
    Condition{"temperature", "degC", [](const DeviceState& s) { return s.temperature_c; }},
    Condition{"throttle_reasons", "1", reasons_of},
};

constexpr double absent = std::numeric_limits<double>::quiet_NaN();

bool is_absent_somewhere(const std::vector<std::vector<double>>& samples) {
  return std::any_of(samples.begin(), samples.end(), [](const auto& rank) {
    return std::any_of(rank.begin(), rank.end(), [](double value) { return std::isnan(value); });
  });
}

void add_series(Measurement& measurement, std::string_view name, std::string_view unit,
                const std::vector<double>& mine, backend::Communicator& communicator) {
  std::vector<std::vector<double>> all = gather_on_ranks(communicator, mine);
  if (is_absent_somewhere(all)) return;
  measurement.series[std::string(name)] = make_series(std::string(unit), std::move(all));
}

std::vector<double> values_of(const Condition& condition, States states) {
  std::vector<double> values;
  for (const DeviceState& state : states) values.push_back(condition.of(state).value_or(absent));
  return values;
}

/// Number of readings that all ranks have.
std::size_t common_count(std::size_t mine, backend::Communicator& communicator) {
  auto count = static_cast<double>(mine);
  communicator.all_reduce(std::span(&count, 1), backend::Reduction::min);
  return static_cast<std::size_t>(count);
}

/// Warns of throttling from the series of all ranks, so that all warn alike.
void warn_of_throttling(Measurement& measurement) {
  const auto found = measurement.series.find("throttle_reasons");
  if (found == measurement.series.end()) return;
  std::size_t readings = 0;
  std::size_t throttled = 0;
  std::uint64_t reasons = 0;
  for (const std::vector<double>& rank : found->second.samples) {
    for (const double value : rank) {
      const auto bits = static_cast<std::uint64_t>(value);
      readings += 1;
      throttled += throttle_names(bits).empty() ? 0 : 1;
      reasons |= bits;
    }
  }
  if (throttled == 0) return;
  measurement.warnings.push_back(fmt::format(
      "the GPU was throttled in {} of {} readings ({}), so it ran slower than it can. Cool it or "
      "raise its power limit, or compare only with runs that were throttled alike.",
      throttled, readings, fmt::join(throttle_names(reasons), ", ")));
}

}  // namespace

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

std::optional<double> energy_of_each(States states, std::size_t runs) {
  std::set<double> steps;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (!states[i].energy_j) return {};
    if (i > 0 && *states[i].energy_j < *states[i - 1].energy_j) return {};
    steps.insert(*states[i].energy_j);
  }
  if (runs == 0 || steps.size() <= least_steps) return {};
  return (*steps.rbegin() - *steps.begin()) / static_cast<double>(runs);
}

std::vector<DeviceState> evenly(States states, std::size_t count) {
  EXPECT(count >= 2 && count <= states.size());
  std::vector<DeviceState> chosen;
  for (std::size_t i = 0; i < count; ++i) {
    chosen.push_back(states[i * (states.size() - 1) / (count - 1)]);
  }
  return chosen;
}

void add_conditions(Measurement& measurement, States mine, std::size_t runs,
                    backend::Communicator& communicator) {
  const std::size_t count = common_count(mine.size(), communicator);
  if (count < 2) return;
  const std::vector<DeviceState> chosen = evenly(mine, count);
  for (const Condition& condition : conditions) {
    add_series(measurement, condition.series, condition.unit, values_of(condition, chosen),
               communicator);
  }
  add_series(measurement, "energy", "J", {energy_of_each(mine, runs).value_or(absent)},
             communicator);
  warn_of_throttling(measurement);
}

}  // namespace dlscale::bench
