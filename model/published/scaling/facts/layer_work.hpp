#pragma once
#include <span>
#include <vector>

#include "model/published/scaling/facts/tensors.hpp"

namespace dlscale::model::scaling {

/// The work of a layer for one image, and its parameters.
struct LayerWork {
  double macs = 0;                   ///< multiply-adds of the forward pass, ≥ 0
  double outputs = 0;                ///< elements of its output, ≥ 0
  std::vector<double> tensors = {};  ///< elements of each parameter tensor, in forward order
};

/// The gradients of layers, which are in forward order; gradients are in backward order. A layer
/// takes
///   2 · macs / 2.2e12 + 8 · outputs / 6e11 seconds
/// of a generic device: multiply-adds at the speed of f32, an output written and read at that of
/// its memory. Only the ratio of both counts. Requires layers that take time.
std::vector<GradientTensor> ready_tensors(std::span<const LayerWork> layers);

/// The layers of a network.
std::vector<LayerWork> layer_work(const Network& network);

}  // namespace dlscale::model::scaling
