#pragma once
#include <chrono>
#include <optional>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "bench/quiet/device_watch.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// The conditions of a rank's device while it trains, from the end of the warm-up on. Without a
/// witness, as on processors, or a monitor nothing runs.
class TrainingWatch {
 public:
  /// Rarer than where kernels are timed (DeviceWatch::usual_period): the cores that read are those
  /// that load pictures and give the device its work. Half a second shows energy.
  static constexpr std::chrono::milliseconds usual_period{50};

  explicit TrainingWatch(std::optional<DeviceWitness> witness,
                         std::chrono::milliseconds period = usual_period);
  /// What was read up to now is of the warm-up. The reading that takes its place is another
  /// thread's, so that the next iteration starts at once.
  void warmed_up();
  void stop();
  /// Collective, after stop(): adds what was read, as add_witnessed(), with the energy of each
  /// sample of "t_iter". Nothing without a witness, which all ranks or none must have.
  void add_to(Measurement& measurement, backend::Communicator& communicator) const;

 private:
  std::optional<DeviceWitness> witness_;
  std::optional<DeviceWatch> watch_;
  std::vector<backend::DeviceState> states_;
};

}  // namespace dlscale::bench
