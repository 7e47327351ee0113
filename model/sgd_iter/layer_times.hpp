#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/evidence/time_source.hpp"

namespace dlscale::model {

/// What one layer adds to an iteration of one rank. Of several steps in one time the least sure
/// source counts; a time of no step at all has none.
struct LayerTime {
  LayerId layer;
  Seconds forward;
  Seconds backward;  ///< all of its backward steps, with the sum of gradients of several consumers
  /// Its share, by elements, of the messages its gradients travel in, hidden or not.
  Seconds communication;
  Bytes gradient;  ///< of its parameters, f32
  std::optional<TimeSource> forward_source;
  std::optional<TimeSource> backward_source;
  std::optional<TimeSource> communication_source;
};

struct LayerTimes {
  Run run;
  std::vector<LayerTime> layers;   ///< all of as_run(network, run), in its order
  std::vector<std::string> notes;  ///< as those of a Prediction
};

/// Of the layers of as_run() of the network: the parts that iteration_costs() adds up, layer by
/// layer: forward, backward and messages without what happens between threads that share cores.
/// Throws ConfigError as predict() does.
LayerTimes layer_times(const Network& read, const Machine& machine, const Run& run);

}  // namespace dlscale::model
