#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/units.hpp"
#include "model/memory/out_of_core/spilled_training.hpp"

namespace dlscale::model {

/// The fate of a tensor between forward and backward.
enum class SpillChoice {
  keep,
  swap,       ///< copied to the host, and back before its use
  recompute,  ///< dropped, and computed anew before its use
};

/// An iteration with a choice for each tensor.
struct SpillTime {
  Seconds total;
  Seconds stall;        ///< the device waits for copies
  Seconds recomputing;  ///< and computes anew
  Bytes peak;           ///< most memory of the device in use at a time
  Bytes swapped;        ///< of one direction
};

/// How far copies may run ahead of the step that needs them.
struct SpillDistance {
  /// Steps: 0, a copy and computing wait for each other. 1, a tensor leaves during the forward step
  /// of the layer that releases it, and returns during the step before that layer's backward, which
  /// waits for it [vDNN, arXiv:1602.08124]. More: so many steps.
  int steps = 1;
};

/// Simulates the copies beside the steps. Each direction of the link carries one copy after the
/// other, and both work at once. With distance 1,
///   T_f = Σ max(t_f, Σ out),  T_b = Σ max(t_b, Σ in of the next step)                        (8.1)
/// and a tensor that is computed anew adds its time to the step that needs it (8.3). The peak is
/// over all steps: fixed, what is live, kept tensors that wait for backward, and copies on their
/// way. `choices` has one for each tensor; a choice that a tensor does not offer is the caller's
/// bug.
SpillTime spill_time(const SpilledTraining& training, std::span<const SpillChoice> choices,
                     const HostLink& link, SpillDistance distance = {});

}  // namespace dlscale::model
