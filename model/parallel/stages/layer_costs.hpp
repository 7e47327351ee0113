#pragma once
#include <vector>

#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/fits/piecewise.hpp"
#include "model/machine/machine.hpp"
#include "model/parallel/stages/part_exchange.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/kernels/kernel_time.hpp"

namespace dlscale::model {

/// The value of a time, or an end of its interval.
inline Seconds end_of(const Estimate<Seconds>& time, Bound bound) {
  switch (bound) {
    case Bound::value:
      return time.value;
    case Bound::low:
      return time.low;
    case Bound::high:
      return time.high;
  }
  return time.value;  // every case is above
}

/// Input of one micro-batch on one device.
struct InputCosts {
  Estimate<Seconds> load;  ///< by all loader threads of a rank
  Estimate<Seconds> copy;  ///< to the device; 0 where it is copied ahead
};

/// Throws ConfigError as iteration_costs() does.
InputCosts input_costs(const Network& network, const Machine& machine, Run run, Notes& notes);

/// Times of a micro-batch, all at one end of their intervals.
struct LayerCosts {
  std::vector<Seconds> forward;  ///< by layer
  std::vector<Seconds> backward;
  BackwardTimes steps;
  Seconds load;  ///< input, as InputCosts
  Seconds copy;
};

LayerCosts layer_costs(const Network& network, const KernelTimes& kernels, const InputCosts& input,
                       Bound bound);

}  // namespace dlscale::model
