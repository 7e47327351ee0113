#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "backend/compute/compute.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "train/engine/arena.hpp"

namespace dlscale::train {

/// Which memory the gradients of activations use in a backward pass, decided before it runs.
///
/// Every consumer writes the gradient it returns into a buffer of its own; if an output has several
/// consumers, its accumulate step adds them up in one of these. The gradient of a Sum is the
/// gradient of each of its inputs, so these share one buffer, which is therefore never written to
/// again; of a Sum with a ReLU they share the one that its backward_data writes. Where the layouts
/// of a Sum's input and output differ, a copy replaces the sharing, and likewise where the layer
/// that made the input has a ReLU, as that may write to the gradient of its output.
struct GradientFlow {
  using BufferId = Id<struct GradientBufferTag>;

  /// to = from, or to += from.
  struct Move {
    enum class Kind { copy, add } kind;
    BufferId from;
    BufferId to;
  };

  /// By layer: the gradient of its output; nothing for losses and where none is computed.
  std::vector<std::optional<BufferId>> output;
  /// By layer: the gradients it writes, one per input (a Sum: one for all); empty if it writes
  /// none.
  std::vector<std::vector<BufferId>> inputs;
  /// By step: what precedes its operation; of an accumulate step all there is to do.
  std::vector<std::vector<Move>> moves;
  /// By buffer: the layer whose output it has the shape of, and the steps it is needed in.
  std::vector<LayerId> like;
  std::vector<LiveRange> live;
};

/// `outputs` are the layers' outputs, by layer index; `steps` is backward_steps(network).
GradientFlow plan_gradient_flow(const Network& network,
                                std::span<const backend::TensorDesc> outputs,
                                std::span<const Step> steps);

}  // namespace dlscale::train
