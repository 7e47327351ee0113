#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "model/goodput/uncertain.hpp"

namespace dlscale::model::goodput {

/// A whole training: its iterations, and failures, checkpoints, energy and price beside them.
/// docs/explanation/goodput.md has the equations. Everything here is pure. Rates, powers and times
/// that a question leaves out are those of configs/models/failures.yaml.

/// Parts of a training job that fail on their own.
enum class Component : std::size_t { device, host, network, software };
inline constexpr std::size_t component_count = 4;
inline constexpr std::array<const char*, component_count> component_names{"gpu", "node", "network",
                                                                          "software"};

/// Mean times between failures in hours, > 0; infinity: never fails. Absent: the file's.
struct StatedMtbf {
  std::optional<double> device_h;   ///< of one device
  std::optional<double> host_h;     ///< of one node without its devices
  std::optional<double> network_h;  ///< of the network's part of one device: adapter, cable, switch
  std::optional<double> software_h;  ///< of the software's part of one device
  /// One device with its share of everything else. It replaces all four, in the file's shares.
  std::optional<double> all_h;
};

/// Storage that takes the checkpoints.
struct CheckpointStorage {
  /// Read rate of one node's disks, or of the storage that all nodes share; 0: unknown, so that
  /// checkpoints count as taking no time; infinity: none.
  BytesPerSecond read = {};
  bool shared_by_nodes = false;
};

/// How checkpoints are taken.
struct CheckpointHabit {
  std::optional<Seconds> every;  ///< > 0, from the end of one to the next; absent: the best
  /// Training goes on while a copy in the host's memory is written.
  bool asynchronous = false;
};

/// Power in watts, ≥ 0. Absent: by the data sheet and the file's shares of it.
struct Power {
  std::optional<double> board_w;   ///< of a device, by its data sheet
  std::optional<double> device_w;  ///< a device's mean in an iteration, as measured
  std::optional<double> host_w;    ///< the node's other parts, for each device
  double pue = 1;                  ///< ≥ 1: power of the building over that of its machines
};

/// Shares of an iteration, each ≥ 0; together 1.
struct PhaseShares {
  double computing = 1;
  double exposed = 0;  ///< messages that nothing hides
  double idle = 0;     ///< all else: waiting for input, bubbles of pipelines
};

/// A training whose cost is asked. Members that are not finite or out of range are the caller's bug
/// (EXPECT).
struct CostQuestion {
  std::string label = {};              ///< a letter beside other plans; empty: none
  bool fits = true;                    ///< whether memory probably holds it
  std::string title;                   ///< "llama3_70b on dgx_h100, tensor=8,data=64"
  std::string samples_are = "tokens";  ///< plural of what `samples` counts
  Seconds iteration;                   ///< > 0
  Seconds iteration_low;   ///< of its 90 % interval, > 0 and ≤ iteration; iteration if unknown
  Seconds iteration_high;  ///< ≥ iteration; iteration if unknown
  double samples_per_iteration = 1;  ///< samples or tokens of all devices, > 0
  double samples = 1;                ///< of the training, > 0, in the same unit
  Seconds beside_iterations;         ///< evaluations and the start, ≥ 0
  int devices = 1;                   ///< ≥ 1
  int devices_per_node = 1;          ///< ≥ 1
  bool has_gpus = true;              ///< false: only nodes, network and software fail
  /// Weights, master copies and moments of the whole job, each counted once (not once a replica).
  Bytes state;
  CheckpointStorage storage = {};
  BytesPerSecond host_link = {};  ///< a device to its host's memory; 0: unknown
  PhaseShares shares = {};
  Power power = {};
  std::optional<double> price_per_device_hour;  ///< ≥ 0
  StatedMtbf mtbf = {};
  CheckpointHabit checkpoint = {};
  /// Nodes that the job holds and pays beside its own. Absent: other nodes of the cluster stand in
  /// at once, and cost nothing while they wait.
  std::optional<int> spares;
  std::vector<std::string> notes = {};  ///< sentences on what the asker assumed
};

/// Shares of the time with failures; together 1.
struct TimeShares {
  double useful = 1;       ///< the goodput
  double checkpoints = 0;  ///< training stands still for them
  double repeated = 0;     ///< work and checkpoints that failures undid
  double restarts = 0;     ///< from a failure until training goes on
  double waiting = 0;      ///< for a repaired node, because no spare is left
};

/// The cost of a training with failures, and without them (`plain_…`: no checkpoints either).
struct TrainingCost {
  CostQuestion question;
  double iterations = 0;  ///< not rounded
  Uncertain plain_s;
  Uncertain time_s;
  Uncertain plain_device_hours;
  Uncertain device_hours;                ///< with those of `spares`
  std::optional<Uncertain> plain_price;  ///< absent without a price
  std::optional<Uncertain> price;
  std::optional<Uncertain> plain_kwh;  ///< absent where no power is known
  std::optional<Uncertain> kwh;
  Uncertain goodput;  ///< useful share of the time, 0 … 1
  TimeShares shares;
  Uncertain failures;                                 ///< expected in time_s
  std::array<double, component_count> failures_of{};  ///< of which by component
  Seconds mtbf;                                       ///< of the whole job; infinity: never fails
  Seconds checkpoint_every;  ///< useful time between checkpoints; infinity: none is taken
  bool checkpoint_is_best = true;
  Seconds checkpoint_stall;        ///< training stands still for one
  Seconds checkpoint_write;        ///< afterwards, in the background
  Seconds restart;                 ///< detection, start and reading the checkpoint
  int spares_for_95 = 0;           ///< nodes that keep 95 % of failed nodes from being waited for
  std::vector<std::string> notes;  ///< what was assumed, a sentence each
};

/// Watts of one device with its part of the node, at the building's PUE, in each phase.
struct PhaseWatts {
  double computing = 0;
  double exposed = 0;
  double idle = 0;
  /// Mean of an iteration.
  [[nodiscard]] double mean(const PhaseShares& shares) const {
    return shares.computing * computing + shares.exposed * exposed + shares.idle * idle;
  }
};

/// The power in iterations that training_cost() takes, without its interval; absent where none is
/// known. A stated device_w counts in all phases.
std::optional<PhaseWatts> phase_watts(const CostQuestion& question);

/// TrainingCost::time_s of the question with another time of an iteration, > 0, without its
/// interval; the greatest double where the training would not end.
Seconds expected_time(const CostQuestion& question, Seconds iteration);

/// The cost of a training. Throws ConfigError where failures come so fast that it would not end
/// (goodput below 1 %), and for a stated checkpoint interval shorter than the write in the
/// background.
TrainingCost training_cost(const CostQuestion& question);

}  // namespace dlscale::model::goodput
