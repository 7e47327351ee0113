#pragma once
#include <vector>

#include "core/network/network.hpp"
#include "core/network/step.hpp"

namespace dlscale::model {

/// A fused network (core/network/relu_fusion.hpp) with every ReLU as a separate layer again, and
/// the separate steps that do the work of each fused step. It stands in for fused kernels that were
/// not measured.
///   forward                       the layer's; it applies ReLU to its own results
///   accumulate                    the ReLU's, whose output the consumers read
///   the first backward pass       the ReLU's backward_data, which reads and writes the same
///                                 gradients, then the layer's own, if it has one
///   backward_data after that      the layer's
/// So a fused layer takes as long as its two parts without the ReLU's forward pass. Wrong where
/// kernels apply the ReLU's gradient while reading, which saves more.
class UnfusedNetwork {
 public:
  explicit UnfusedNetwork(const Network& fused);
  [[nodiscard]] const Network& network() const { return network_; }
  /// The separate steps for a step of a layer with a ReLU.
  [[nodiscard]] std::vector<Step> steps(Step fused) const;

 private:
  Network network_;
  std::vector<LayerId> layers_;  ///< by layer of the fused network; its ReLU is the next one
};

}  // namespace dlscale::model
