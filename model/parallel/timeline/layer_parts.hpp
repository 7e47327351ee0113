#pragma once
#include "model/parallel/time/layer.hpp"

namespace dlscale::model::parallel_time {

/// A pass of one layer for one micro-batch, in seconds that add up to it; all ≥ 0.
struct PassParts {
  double kernels = 0;    ///< the device computes, or goes from one kernel to the next
  double host = 0;       ///< the device waits for launches
  double messages = 0;   ///< between ranks that share the layer, and gathers of its weights
  double recompute = 0;  ///< backward: what forward did not keep, with its messages
  [[nodiscard]] double total() const { return kernels + host + messages + recompute; }
};

struct LayerParts {
  PassParts forward = {};
  PassParts backward = {};
  /// Within the kernels and host of backward: gradients of weights, for schedules that split it.
  double weights = 0;
};

/// The parts of a layer as it is exposed. Without messages a pass would take
/// slower(kernels, host) of layer_time(), and what it takes longer are its messages; without the
/// host, it would take its kernels. Gradients of weights are half of the products of backward and a
/// tenth of its launches: what backward would save without them. [derived]
LayerParts layer_parts(const Setting& setting, const PlanSizes& plan, const LayerTime& time);

}  // namespace dlscale::model::parallel_time
