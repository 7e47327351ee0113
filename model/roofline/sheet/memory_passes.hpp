#pragma once
#include <optional>
#include <vector>

#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "core/run/compute_traits.hpp"
#include "model/roofline/sheet/layer_passes.hpp"
#include "model/roofline/sheet/transformer_parts.hpp"

namespace dlscale::model::sheet {

/// Counts what the kernels of a network move beside its products: passes_of_layer(), with attention
/// passes_of_transformer().
class MemoryPassCounter {
 public:
  /// For mini-batches of `batch` samples, ≥ 1. The network must outlive this.
  MemoryPassCounter(const Network& network, int batch);
  /// Passes of a step. Those of a layer backward count with its first backward pass; those of a sum
  /// with the first layer below it that has one. A ReLU that the network itself has fused
  /// (Layer::relu) counts as fused. Requires a known `elementwise`.
  [[nodiscard]] MemoryPasses count(Step step, const ComputeTraits& way) const;
  /// Share of its rows that a layer computes: 1, or less where few words are decoded.
  [[nodiscard]] double computed_rows(LayerId layer, const ComputeTraits& way) const;

 private:
  [[nodiscard]] LayerPasses of_layer(const Layer& layer, const ComputeTraits& way) const;

  const Network* network_;
  double batch_;
  std::optional<TransformerParts> parts_;         ///< of networks with attention
  std::vector<std::vector<LayerId>> borne_sums_;  ///< by layer: the sums that count with it
};

}  // namespace dlscale::model::sheet
