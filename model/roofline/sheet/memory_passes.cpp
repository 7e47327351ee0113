#include "model/roofline/sheet/memory_passes.hpp"

#include <cstddef>

#include "core/base/error.hpp"
#include "model/roofline/sheet/layer_is.hpp"
#include "model/roofline/sheet/transformer_passes.hpp"

namespace dlscale::model::sheet {
namespace {

/// Whether backward has no step of the layer, as its inputs share the gradient of its output.
bool hands_gradient_on(const Layer& layer) {
  return is<Sum>(layer) && !layer.relu;
}

/// For each layer the one that backward passes of its gradient count with: itself, or for a sum its
/// first input with a backward step, through sums of sums. Nothing where all of it comes from the
/// input.
std::vector<std::optional<LayerId>> find_bearers(const Network& network) {
  std::vector<std::optional<LayerId>> bearers(network.layers().size());
  for (const Layer& layer : network.layers()) {
    std::optional<LayerId>& bearer = bearers[layer.id.index()];
    if (is<Input>(layer)) continue;
    if (!hands_gradient_on(layer)) bearer = layer.id;
    for (std::size_t i = 0; !bearer && i < layer.inputs.size(); ++i) {
      bearer = bearers[layer.inputs[i].index()];
    }
  }
  return bearers;
}

/// The pass in which gradients first reach a layer.
Pass first_backward_pass(const Layer& layer) {
  const bool filters = layer.read_weight_count() > 0 && !is_norm(layer.kind);
  return filters ? Pass::backward_filter : Pass::backward_data;
}

}  // namespace

MemoryPassCounter::MemoryPassCounter(const Network& network, int batch)
    : network_(&network), batch_(batch), borne_sums_(network.layers().size()) {
  EXPECT(batch >= 1);
  if (network.has_attention()) parts_.emplace(network);
  const std::vector<std::optional<LayerId>> bearers = find_bearers(network);
  for (const Layer& layer : network.layers()) {
    const std::optional<LayerId> bearer = bearers[layer.id.index()];
    if (bearer && *bearer != layer.id) borne_sums_[bearer->index()].push_back(layer.id);
  }
}

LayerPasses MemoryPassCounter::of_layer(const Layer& layer, const ComputeTraits& way) const {
  LayerPasses passes = parts_ ? passes_of_transformer(*network_, *parts_, layer, batch_, way)
                              : passes_of_layer(*network_, layer, batch_, way);
  if (layer.relu) {
    passes.backward.elements += batch_ * static_cast<double>(layer.output.elements());
  }
  return passes;
}

MemoryPasses MemoryPassCounter::count(Step step, const ComputeTraits& way) const {
  const Layer& layer = network_->layer(step.layer);
  if (step.pass == Pass::forward) return of_layer(layer, way).forward;
  if (step.pass != first_backward_pass(layer)) return {};
  MemoryPasses sum = of_layer(layer, way).backward;
  for (const LayerId borne : borne_sums_[step.layer.index()]) {
    sum += of_layer(network_->layer(borne), way).backward;
  }
  return sum;
}

double MemoryPassCounter::computed_rows(LayerId layer, const ComputeTraits& way) const {
  return parts_ ? parts_->computed_rows(layer, way) : 1;
}

}  // namespace dlscale::model::sheet
