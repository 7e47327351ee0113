#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/evidence/notes.hpp"

namespace dlscale::model {

/// Contribution of one layer to an iteration of one rank. A time of several steps has its least
/// certain source; a time without steps has none.
struct LayerTime {
  LayerId layer;
  Seconds forward;
  Seconds backward;  ///< all backward steps, including the sum of several consumers' gradients
  /// Its share, by elements, of the messages with its gradients, hidden or not.
  Seconds communication;
  Bytes gradient;  ///< gradient of its parameters, f32
  std::optional<TimeSource> forward_source;
  std::optional<TimeSource> backward_source;
  std::optional<TimeSource> communication_source;
};

struct LayerTimes {
  Run run;
  std::vector<LayerTime> layers;  ///< all of as_run(network, run), in its order
  std::vector<Note> notes;        ///< as those of a Prediction
};

/// Times of the layers of as_run() of the network: the parts that iteration_costs() adds up,
/// without effects between threads that share cores. Throws ConfigError as predict() does.
LayerTimes layer_times(const Network& read, const Machine& machine, const Run& run);

}  // namespace dlscale::model
