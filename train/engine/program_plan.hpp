#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "backend/compute/compute.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "train/engine/arena.hpp"
#include "train/engine/gradient_flow.hpp"
#include "train/engine/parameters.hpp"

namespace dlscale::train {

/// Pieces of one allocation with the same lifetime, one per layer, aligned for vectors.
struct Packed {
  std::vector<std::size_t> offsets;
  std::size_t bytes = 0;
};

/// A network compiled for a device, before any memory is allocated.
struct ProgramPlan {
  std::vector<Step> forward;
  std::vector<Step> backward;
  std::vector<backend::OperationSpec> specs;                    ///< by layer; the input's is unused
  std::vector<std::unique_ptr<backend::Operation>> operations;  ///< by layer; none for the input
  std::vector<backend::TensorDesc> outputs;                     ///< by layer
  GradientFlow flow;
  ParameterLayout parameters;
  Packed activations;   ///< outputs, which live from forward to backward
  Packed states;        ///< states of the operations
  Placement gradients;  ///< gradients of activations, by GradientFlow's buffers
  std::size_t scratch = 0;

  [[nodiscard]] std::size_t bytes() const;
};

/// Whether backends compute every layer (is_offered()).
bool is_trainable(const Network& network);

/// Throws ConfigError naming the first layer that backends do not compute.
void check_trainable(const Network& network);

/// Creates the operations in network order, each for the output layouts of its producers. Throws
/// Unsupported naming the layer.
ProgramPlan make_plan(const Network& network, backend::ComputeDevice& device, int batch,
                      DType dtype);

}  // namespace dlscale::train
