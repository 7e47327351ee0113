#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "backend/compute/compute.hpp"
#include "backend/power/device_monitor.hpp"
#include "core/base/units.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// The monitor of a rank's device, or the reason why it is missing.
struct DeviceWitness {
  std::shared_ptr<backend::DeviceMonitor> monitor;
  std::string absent_because;  ///< if monitor is null
};

/// Opens the NVML monitor; does not throw if it is missing.
DeviceWitness open_witness(const std::string& bus_id);

/// The witness of a device with its own memory; empty for one that computes in host memory, which
/// has no readings.
std::optional<DeviceWitness> witness_of(const backend::ComputeDevice& device);

/// Reads the state of a device during a measurement: at the start, at the end and, on a thread,
/// every `period` between them.
class DeviceWatch {
 public:
  /// Twenty milliseconds: below the averaging time of power readings, and rare enough not to
  /// disturb.
  static constexpr std::chrono::milliseconds usual_period{20};

  explicit DeviceWatch(backend::DeviceMonitor& monitor,
                       std::chrono::milliseconds period = usual_period);
  /// Drops the readings and starts again on the thread; returns at once.
  void start_anew();
  /// Stops reading; returns the readings in order, at least two.
  std::vector<backend::DeviceState> stop();

 private:
  void keep_reading(const std::stop_token& stop, std::chrono::milliseconds period);

  backend::DeviceMonitor* monitor_;
  std::vector<backend::DeviceState> states_;  ///< the thread's while it runs
  std::mutex mutex_;                          ///< guards anew_; not held while reading
  std::condition_variable_any wake_;
  bool anew_ = false;
  std::jthread thread_;  ///< last member: it uses the others
};

/// Adds the readings of all ranks' devices to a measurement (see docs/reference/results): series of
/// clocks, power, temperature and throttle reasons, and the energy of each of `runs` runs between
/// the first and last reading. Adds a warning if a device was throttled. A quantity that one device
/// does not report is left out for all. Collective; `mine` is empty on a rank without a monitor.
void add_conditions(Measurement& measurement, std::span<const backend::DeviceState> mine,
                    std::size_t runs, backend::Communicator& communicator);

/// Collective: adds the conditions, as add_conditions() does; on a rank without a monitor, a
/// warning with the reason; and a warning if other processes have a device open for computing. Does
/// nothing for a measurement without series, which all ranks or none must have.
void add_witnessed(Measurement& measurement, const DeviceWitness& witness,
                   std::span<const backend::DeviceState> mine, std::size_t runs,
                   backend::Communicator& communicator);

/// Collective: runs `measure`, which adds its number of runs to `runs`, while this rank's device is
/// watched, and adds the readings. Without a monitor it adds a warning with the reason, unless
/// there are no times.
Measurement with_conditions(const DeviceWitness& witness, backend::Communicator& communicator,
                            const std::function<Measurement(std::size_t& runs)>& measure);

/// Energy of each of `runs` runs. Empty if the counter is missing, decreased, or advanced fewer
/// than ten times: then the error of one step exceeds a tenth.
std::optional<double> energy_of_each(std::span<const backend::DeviceState> states,
                                     std::size_t runs);

/// `count` evenly spaced elements of `states`, with the first and the last. 2 ≤ count ≤ their
/// number.
std::vector<backend::DeviceState> evenly(std::span<const backend::DeviceState> states,
                                         std::size_t count);

}  // namespace dlscale::bench
