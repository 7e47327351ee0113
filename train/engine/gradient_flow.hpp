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

/// Plan of the memory for gradients of activations in a backward pass, made before it runs.
///
/// Each consumer writes the gradient it returns into its own buffer. If an output has several
/// consumers, its accumulate step adds them up in one of these buffers. The gradient of a Sum is
/// the gradient of each of its inputs. These share one buffer, which is therefore never written
/// again; with a ReLU they share the buffer that the Sum's backward_data writes. A copy replaces
/// the sharing where the layouts of a Sum's input and output differ. It also does so where the
/// layer that made the input has a ReLU, as that may overwrite the gradient of its output.
struct GradientFlow {
  using BufferId = Id<struct GradientBufferTag>;

  /// to = from, or to += from.
  struct Move {
    enum class Kind { copy, add } kind;
    BufferId from;
    BufferId to;
  };

  /// By layer: the gradient of its output; empty for losses and where none is computed.
  std::vector<std::optional<BufferId>> output;
  /// By layer: the gradients it writes, one per input (one for all of a Sum); empty if it writes
  /// none.
  std::vector<std::vector<BufferId>> inputs;
  /// By step: the moves before its operation; for an accumulate step, all its work.
  std::vector<std::vector<Move>> moves;
  /// By buffer: the layer whose output has its shape, and the steps that need it.
  std::vector<LayerId> like;
  std::vector<LiveRange> live;
};

/// `outputs` are the layers' outputs, by layer index; `steps` is backward_steps(network).
GradientFlow plan_gradient_flow(const Network& network,
                                std::span<const backend::TensorDesc> outputs,
                                std::span<const Step> steps);

}  // namespace dlscale::train
