#pragma once
#include <chrono>
#include <optional>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "bench/quiet/device_watch.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// Records the conditions of a rank's device from the end of the warm-up on. It does nothing
/// without a witness, as on processors, or without a monitor.
class TrainingWatch {
 public:
  /// Period of the readings, longer than DeviceWatch::usual_period: the reading cores also load
  /// pictures and launch the device's work. Half a second of readings is enough for energy.
  static constexpr std::chrono::milliseconds usual_period{50};

  explicit TrainingWatch(std::optional<DeviceWitness> witness,
                         std::chrono::milliseconds period = usual_period);
  /// Drops the readings of the warm-up. Another thread reads anew, so that the next iteration
  /// starts at once.
  void warmed_up();
  void stop();
  /// Collective, after stop(): adds the readings, as add_witnessed() does, with the energy of each
  /// sample of "t_iter". Does nothing without a witness, which all ranks or none must have.
  void add_to(Measurement& measurement, backend::Communicator& communicator) const;

 private:
  std::optional<DeviceWitness> witness_;
  std::optional<DeviceWatch> watch_;
  std::vector<backend::DeviceState> states_;
};

}  // namespace dlscale::bench
