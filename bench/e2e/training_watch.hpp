#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "bench/engine/speed_samples.hpp"
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

/// Separates iterations in which the machine ran at its best speed from those that something else
/// slowed down. It does not pause for a quieter machine, as pictures would be loaded meanwhile.
/// Training continues until enough iterations count.
class QuietIterations {
 public:
  /// `patience` limits the time of iterations that do not count. The other arguments are those of
  /// SpeedSamples.
  QuietIterations(backend::Communicator& communicator, Seconds patience,
                  std::function<Seconds()> witness);

  /// Collective: checks the speed after the warm-up and after each later iteration.
  void look();
  /// Collective, after look(): whether `wanted` iterations count or patience is exhausted.
  [[nodiscard]] bool are_enough(std::size_t wanted);
  /// Whether the machine was quiet before and after each iteration between two checks.
  [[nodiscard]] std::vector<bool> counted() const;
  /// Adds the series "witness" (s, by rank), the time of fixed work before the first iteration and
  /// after each. Adds a warning if fewer than `wanted` iterations count.
  void tell(Measurement& measurement, std::size_t wanted) const;

 private:
  backend::Communicator* communicator_;
  Seconds patience_;
  SpeedSamples looks_;
  std::vector<std::chrono::steady_clock::time_point> ends_;  ///< end of each check
};

/// A warning that names the rank for which the others wait. A rank's own time excludes waits for
/// gradients and other ranks. The named rank's is the longest in at least nine of ten iterations
/// (of at least ten), with a median lead of at least 5 %. The iteration time, equal on all ranks,
/// cannot show this. Empty if the phases of `series`, from bench e2e, were not timed.
std::vector<std::string> longest_rank_warnings(const std::map<std::string, Series>& series);

}  // namespace dlscale::bench
