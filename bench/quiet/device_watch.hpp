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

/// The monitor of a rank's device, or why there is none.
struct DeviceWitness {
  std::shared_ptr<backend::DeviceMonitor> monitor;
  std::string absent_because;  ///< if monitor is null
};

/// By NVML; never throws for want of it.
DeviceWitness open_witness(const std::string& bus_id);

/// Of a device with memory of its own; nothing for one that computes in the host's, of which there
/// is nothing to read.
std::optional<DeviceWitness> witness_of(const backend::ComputeDevice& device);

/// Reads the state of a device while something is measured: at the start, at the end and, by a
/// thread, every `period` between them.
class DeviceWatch {
 public:
  /// Twenty milliseconds: below what power is averaged over, and rare enough not to be felt.
  static constexpr std::chrono::milliseconds usual_period{20};

  explicit DeviceWatch(backend::DeviceMonitor& monitor,
                       std::chrono::milliseconds period = usual_period);
  /// Forgets what was read and reads anew, by the thread: the caller goes on at once.
  void start_anew();
  /// Ends watching; the readings in order, at least two.
  std::vector<backend::DeviceState> stop();

 private:
  void keep_reading(const std::stop_token& stop, std::chrono::milliseconds period);

  backend::DeviceMonitor* monitor_;
  std::vector<backend::DeviceState> states_;  ///< while it runs, the thread's
  std::mutex mutex_;                          ///< of anew_; not held while reading
  std::condition_variable_any wake_;
  bool anew_ = false;
  std::jthread thread_;  ///< the last member: it uses the others
};

/// Adds to a measurement what the readings of this rank's device and those of the others' tell (see
/// docs/RESULTS.md): series of clocks, power, temperature and throttle reasons, the energy of each
/// of `runs` pieces of work done between the first and the last reading, and a warning if a device
/// was throttled. What one device does not tell is left out for all. Collective; `mine` is empty
/// on a rank without a monitor.
void add_conditions(Measurement& measurement, std::span<const backend::DeviceState> mine,
                    std::size_t runs, backend::Communicator& communicator);

/// Collective: adds the conditions, as add_conditions(); on a rank without a monitor a warning that
/// says why; and one where other processes have a device open for computing. Nothing to a
/// measurement without series, which all ranks or none must have.
void add_witnessed(Measurement& measurement, const DeviceWitness& witness,
                   std::span<const backend::DeviceState> mine, std::size_t runs,
                   backend::Communicator& communicator);

/// Collective: runs `measure`, which adds to `runs` what it did, while this rank's device is
/// watched, and adds what was read. Without a monitor the measurement has a warning that says why,
/// unless it has no times.
Measurement with_conditions(const DeviceWitness& witness, backend::Communicator& communicator,
                            const std::function<Measurement(std::size_t& runs)>& measure);

/// Energy of each of `runs` pieces of work. Nothing if the counter is missing, went back, or went
/// on fewer than ten times: then what one step of it may be off is more than a tenth.
std::optional<double> energy_of_each(std::span<const backend::DeviceState> states,
                                     std::size_t runs);

/// `count` of `states`, evenly spread, the first and the last among them. 2 ≤ count ≤ their number.
std::vector<backend::DeviceState> evenly(std::span<const backend::DeviceState> states,
                                         std::size_t count);

}  // namespace dlscale::bench
