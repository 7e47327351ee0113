#pragma once
#include <vector>

#include "core/network/network.hpp"
#include "core/network/step.hpp"

namespace dlscale::model {

/// A fused network (core/network/fuse.hpp) with every ReLU a layer again, and of which of its steps each
/// fused step does the work: what stands for fused kernels that were not measured.
///   forward                       the layer's; ReLU is done to what it has at hand
///   accumulate                    the ReLU's, whose output the consumers read
///   the first backward pass       the ReLU's backward_data, which reads and writes the same
///                                 gradients, then the layer's own, if it has one
///   backward_data after that      the layer's
/// So a fused layer takes as long as its two parts but for the ReLU's forward pass. Wrong where
/// kernels let the gradient through while they read it, which saves more.
class UnfusedNetwork {
 public:
  explicit UnfusedNetwork(const Network& fused);
  [[nodiscard]] const Network& network() const { return network_; }
  /// Of a layer that has a ReLU.
  [[nodiscard]] std::vector<Step> steps(Step fused) const;

 private:
  Network network_;
  std::vector<LayerId> layers_;  ///< by layer of the fused network; its ReLU is the one after
};

}  // namespace dlscale::model
