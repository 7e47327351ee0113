#include "backend/compute/cuda/cudnn_layers/graph_layer.hpp"

namespace dlscale::backend::cuda {

std::shared_ptr<const GraphLayer> graph_layer(const OperationSpec& spec, Order order) {
  if (spec.layer.relu) return nullptr;
  const LayerKind& kind = spec.layer.kind;
  if (const auto* pooling = std::get_if<Pooling>(&kind)) {
    return pooling_graphs(spec, *pooling, order);
  }
  if (const auto* norm = std::get_if<BatchNorm>(&kind)) {
    return batch_norm_graphs(spec, *norm, order);
  }
  return std::holds_alternative<Relu>(kind) ? relu_graphs(spec, order) : nullptr;
}

}  // namespace dlscale::backend::cuda
