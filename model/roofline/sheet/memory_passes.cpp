#include "model/roofline/sheet/memory_passes.hpp"

#include <algorithm>
#include <variant>

#include "core/base/error.hpp"

namespace dlscale::model::sheet {
namespace {

template <class Kind>
bool is(const Layer& layer) {
  return std::holds_alternative<Kind>(layer.kind);
}

bool norms_apply_more(Elementwise fusion) {
  return fusion == Elementwise::norm_act || fusion == Elementwise::all;
}

bool is_fused(const Network& network, const Layer& relu, Elementwise fusion) {
  const Layer& before = network.layer(relu.inputs.front());
  if (norms_apply_more(fusion)) return is<BatchNorm>(before) || is<Sum>(before);
  return fusion == Elementwise::pointwise && is<Sum>(before);
}

/// Passes of a layer forward and backward, by its kind.
struct Both {
  MemoryPasses forward;
  MemoryPasses backward;
};

Both moved(double forward, double backward) {
  return {{forward, 1}, {backward, 1}};
}

/// Passes by the kind of a layer without a ReLU of its own.
struct KindPasses {
  const Network& network;
  const Layer& layer;
  double batch;
  Elementwise fusion;

  [[nodiscard]] double out() const { return batch * static_cast<double>(layer.output.elements()); }
  [[nodiscard]] double in() const {
    return batch * static_cast<double>(layer.input_shapes.front().elements());
  }
  /// As many passes over the output forward and backward.
  [[nodiscard]] Both passes(double forward, double backward) const {
    return moved(forward * out(), backward * out());
  }
  [[nodiscard]] Both bias(bool there) const { return there ? passes(2, 1) : Both{}; }
  [[nodiscard]] Both window() const { return moved(in() + out(), in() + 2 * out()); }
  [[nodiscard]] Both added() const {
    if (norms_apply_more(fusion)) return {{out(), 0}, {2 * out(), 1}};
    return passes(3, 3);
  }
  [[nodiscard]] Both token_norm() const { return {{2 * out(), 1}, {4 * out(), 2}}; }

  Both operator()(const Input& /*kind*/) const { return {}; }
  Both operator()(const Convolution& kind) const { return bias(kind.bias); }
  Both operator()(const TransposedConvolution& kind) const { return bias(kind.bias); }
  Both operator()(const FullyConnected& kind) const { return bias(kind.bias); }
  Both operator()(const Linear& kind) const { return bias(kind.bias); }
  Both operator()(const ExpertLinear& /*kind*/) const { return {}; }
  Both operator()(const AttentionScores& /*kind*/) const { return {}; }
  Both operator()(const AttentionContext& /*kind*/) const { return {}; }
  /// The biases of queries, the shift of each row, and its sum with the scores.
  Both operator()(const RelativeScores& /*kind*/) const { return {{6 * out(), 6}, {6 * out(), 9}}; }
  Both operator()(const AttentionMemory& /*kind*/) const { return {{3 * out(), 2}, {6 * in(), 3}}; }
  Both operator()(const AttentionSoftmax& /*kind*/) const {
    return {{8 * out(), 4}, {9 * out(), 4}};
  }
  Both operator()(const Pooling& /*kind*/) const { return window(); }
  Both operator()(const FirstToken& /*kind*/) const { return window(); }
  Both operator()(const Relu& /*kind*/) const {
    if (is_fused(network, layer, fusion)) return {{}, {out(), 0}};
    return passes(2, 3);
  }
  Both operator()(const Activation& /*kind*/) const { return passes(2, 3); }
  Both operator()(const Scale& /*kind*/) const { return added(); }
  Both operator()(const SiluMultiply& /*kind*/) const { return passes(3, 5); }
  Both operator()(const Lrn& /*kind*/) const { return passes(3, 5); }
  Both operator()(const BatchNorm& /*kind*/) const { return {{3 * out(), 2}, {5 * out(), 1}}; }
  Both operator()(const LayerNorm& /*kind*/) const { return token_norm(); }
  Both operator()(const RmsNorm& /*kind*/) const { return token_norm(); }
  Both operator()(const Dropout& /*kind*/) const { return passes(2, 2); }
  Both operator()(const Concat& /*kind*/) const { return passes(2, 2); }
  Both operator()(const Embedding& /*kind*/) const { return passes(2, 2); }
  Both operator()(const ToTokens& /*kind*/) const { return passes(2, 2); }
  Both operator()(const Rope& /*kind*/) const { return passes(2, 2); }
  Both operator()(const Route& /*kind*/) const { return passes(2, 2); }
  Both operator()(const PositionEmbedding& /*kind*/) const { return passes(1, 1); }
  Both operator()(const RelativePositions& /*kind*/) const { return passes(1, 1); }
  Both operator()(const Sum& /*kind*/) const { return added(); }
  Both operator()(const SoftmaxCrossEntropy& /*kind*/) const { return moved(3 * in(), 2 * in()); }
  Both operator()(const TokenCrossEntropy& /*kind*/) const {
    return {{4 * in(), 3}, {3 * in(), 2}};
  }
};

constexpr double fused_share = 0.5;  // of passes over sequences that a compiler leaves

void fuse(MemoryPasses& passes) {
  passes.elements *= fused_share;
  passes.kernels *= fused_share;
}

Both all_passes(const Network& network, const Layer& layer, double batch, Elementwise fusion) {
  const bool sequences = network.is_over_sequences();
  const Elementwise of_images = sequences ? Elementwise::separate : fusion;
  Both both = std::visit(KindPasses{network, layer, batch, of_images}, layer.kind);
  if (sequences && fusion == Elementwise::all) {
    fuse(both.forward);
    fuse(both.backward);
  }
  if (layer.relu) both.backward.elements += batch * static_cast<double>(layer.output.elements());
  return both;
}

/// Whether backward has no step of the layer.
bool hands_gradient_on(const Layer& layer) {
  return is<Input>(layer) || (is<Sum>(layer) && !layer.relu);
}

/// Whether the backward passes of a sum count with this input of it.
bool bears(const Network& network, const Layer& layer, const Layer& sum) {
  if (!is<Sum>(sum) || sum.relu) return false;
  const auto bearer = std::ranges::find_if(
      sum.inputs, [&](LayerId input) { return !hands_gradient_on(network.layer(input)); });
  return bearer != sum.inputs.end() && *bearer == layer.id;
}

/// The pass in which gradients first reach a layer.
Pass first_backward_pass(const Layer& layer) {
  const bool filters = layer.read_weight_count() > 0 && !is_norm(layer.kind);
  return filters ? Pass::backward_filter : Pass::backward_data;
}

}  // namespace

MemoryPasses passes_of(const Network& network, Step step, int batch, Elementwise fusion) {
  EXPECT(batch >= 1);
  const Layer& layer = network.layer(step.layer);
  if (step.pass == Pass::forward) return all_passes(network, layer, batch, fusion).forward;
  if (step.pass != first_backward_pass(layer)) return {};
  MemoryPasses sum = all_passes(network, layer, batch, fusion).backward;
  for (const LayerId consumer : network.consumers(layer.id)) {
    const Layer& reader = network.layer(consumer);
    if (bears(network, layer, reader)) {
      sum += all_passes(network, reader, batch, fusion).backward;
    }
  }
  return sum;
}

}  // namespace dlscale::model::sheet
