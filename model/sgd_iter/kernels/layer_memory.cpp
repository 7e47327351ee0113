#include "model/sgd_iter/kernels/layer_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <variant>

#include "core/network/kept_outputs.hpp"
#include "core/network/step.hpp"

namespace dlscale::model {
namespace {

constexpr double full_bytes = 4;

template <class... Kinds>
bool is_any_of(const Layer& layer) {
  return (std::holds_alternative<Kinds>(layer.kind) || ...);
}

/// Whether its output may overwrite its input.
bool takes_place_of_input(const Network& network, const Layer& layer) {
  return is_any_of<Relu>(layer) && network.consumers(layer.inputs.front()).size() == 1 &&
         !is_any_of<Input>(network.layer(layer.inputs.front()));
}

/// Whether fused attention never writes the layer's output to memory.
bool holds_scores(const Layer& layer) {
  return is_any_of<AttentionScores, AttentionSoftmax, RelativePositions, RelativeScores>(layer);
}

/// The only layer that reads an output; nullptr if several do, or none.
const Layer* only_reader(const Network& network, LayerId id) {
  const std::vector<LayerId>& readers = network.consumers(id);
  return readers.size() == 1 ? &network.layer(readers.front()) : nullptr;
}

/// Share of an output's elements that a pooling leaves, if nothing but the pooling reads it;
/// else 1.
double share_after_pooling(const Network& network, const Layer& layer) {
  const Layer* reader = only_reader(network, layer.id);
  while (reader != nullptr && is_any_of<Relu, Dropout, Concat>(*reader)) {
    reader = only_reader(network, reader->id);
  }
  if (reader == nullptr || !is_any_of<Pooling>(*reader)) return 1;
  return static_cast<double>(reader->output.elements()) /
         static_cast<double>(reader->input_shapes.front().elements());
}

/// Whether only a loss reads its output.
bool ends_in_loss(const Network& network, const Layer& layer) {
  const Layer* reader = only_reader(network, layer.id);
  return reader != nullptr && is_loss(reader->kind);
}

}  // namespace

std::vector<LayerElements> layer_elements(const Network& network) {
  std::vector<LayerElements> all(network.layers().size());
  const std::vector<bool> read_again =
      network.has_attention() ? kept_outputs(network) : std::vector<bool>();
  for (const Layer& layer : network.layers()) {
    LayerElements& own = all[layer.id.index()];
    if (is_loss(layer.kind)) {
      own.loss = static_cast<double>(layer.input_shapes.front().elements());
    }
    const auto elements = static_cast<double>(layer.output.elements());
    if (!network.has_attention()) {
      if (!takes_place_of_input(network, layer)) own.kept = elements;
    } else if (read_again[layer.id.index()]) {
      (holds_scores(layer) ? own.scores : own.kept) = elements;
    }
  }
  return all;
}

std::vector<double> least_kept_bytes(const Network& network, double element) {
  constexpr double place_bytes = 1;  // of a maximum in its window
  std::vector<double> all(network.layers().size());
  for (const Layer& layer : network.layers()) {
    if (!is_any_of<Input, Convolution, TransposedConvolution, FullyConnected, Linear, ExpertLinear,
                   AttentionContext>(layer) ||
        ends_in_loss(network, layer)) {
      continue;
    }
    const auto elements = static_cast<double>(layer.output.elements());
    const double pooled = share_after_pooling(network, layer) * elements;
    all[layer.id.index()] = std::min(element * elements, (element + place_bytes) * pooled);
  }
  return all;
}

std::vector<double> gradient_bytes(const Network& network, double element, bool fused_attention) {
  std::vector<double> all(network.layers().size());
  for (const Step step : backward_steps(network)) {
    if (step.pass != Pass::backward_data) continue;
    const Layer& layer = network.layer(step.layer);
    if (fused_attention && holds_scores(layer)) continue;
    double bytes = element * static_cast<double>(layer.output.elements());
    const double copy = is_loss(layer.kind) && element < full_bytes ? full_bytes : 0;
    for (const LayerId input : layer.inputs) {
      if (fused_attention && holds_scores(network.layer(input))) continue;
      bytes += (element + copy) * static_cast<double>(network.layer(input).output.elements());
    }
    all[step.layer.index()] = bytes;
  }
  return all;
}

}  // namespace dlscale::model
