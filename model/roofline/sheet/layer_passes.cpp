#include "model/roofline/sheet/layer_passes.hpp"

#include <variant>

#include "model/roofline/sheet/layer_is.hpp"

namespace dlscale::model::sheet {
namespace {

bool norms_apply_more(Elementwise fusion) {
  return fusion == Elementwise::norm_act || fusion == Elementwise::all;
}

bool is_fused(const Network& network, const Layer& relu, Elementwise fusion) {
  const Layer& before = network.layer(relu.inputs.front());
  if (norms_apply_more(fusion)) return is<BatchNorm>(before) || is<Sum>(before);
  return fusion == Elementwise::pointwise && is<Sum>(before);
}

LayerPasses moved(double forward, double backward) {
  return {{forward, 1}, {backward, 1}};
}

/// Passes by the kind of a layer without a ReLU of its own.
struct KindPasses {
  const Network& network;
  const Layer& layer;
  double batch;
  Elementwise fusion;
  bool frozen_norm;

  [[nodiscard]] double out() const { return batch * static_cast<double>(layer.output.elements()); }
  [[nodiscard]] double in() const {
    return batch * static_cast<double>(layer.input_shapes.front().elements());
  }
  /// As many passes over the output forward and backward.
  [[nodiscard]] LayerPasses passes(double forward, double backward) const {
    return moved(forward * out(), backward * out());
  }
  [[nodiscard]] LayerPasses bias(bool there) const { return there ? passes(2, 1) : LayerPasses{}; }
  [[nodiscard]] LayerPasses window() const { return moved(in() + out(), in() + 2 * out()); }
  [[nodiscard]] LayerPasses added() const {
    if (norms_apply_more(fusion)) return {{out(), 0}, {2 * out(), 1}};
    return passes(3, 3);
  }
  [[nodiscard]] LayerPasses token_norm() const { return {{2 * out(), 1}, {4 * out(), 2}}; }

  LayerPasses operator()(const Input& /*kind*/) const { return {}; }
  LayerPasses operator()(const Convolution& kind) const { return bias(kind.bias); }
  LayerPasses operator()(const TransposedConvolution& kind) const { return bias(kind.bias); }
  LayerPasses operator()(const FullyConnected& kind) const { return bias(kind.bias); }
  LayerPasses operator()(const Linear& kind) const { return bias(kind.bias); }
  LayerPasses operator()(const ExpertLinear& /*kind*/) const { return {}; }
  LayerPasses operator()(const AttentionScores& /*kind*/) const { return {}; }
  LayerPasses operator()(const AttentionContext& /*kind*/) const { return {}; }
  /// The biases of queries, the shift of each row, and its sum with the scores.
  LayerPasses operator()(const RelativeScores& /*kind*/) const {
    return {{6 * out(), 6}, {6 * out(), 9}};
  }
  LayerPasses operator()(const AttentionMemory& /*kind*/) const {
    return {{3 * out(), 2}, {6 * in(), 3}};
  }
  LayerPasses operator()(const AttentionSoftmax& /*kind*/) const { return {}; }
  LayerPasses operator()(const Pooling& /*kind*/) const { return window(); }
  LayerPasses operator()(const FirstToken& /*kind*/) const {
    return moved(2 * out(), in() + out());
  }
  LayerPasses operator()(const Relu& /*kind*/) const {
    if (is_fused(network, layer, fusion)) return {{}, {out(), 0}};
    return passes(2, 3);
  }
  LayerPasses operator()(const Activation& /*kind*/) const { return passes(2, 3); }
  LayerPasses operator()(const Scale& /*kind*/) const { return added(); }
  LayerPasses operator()(const SiluMultiply& /*kind*/) const { return passes(3, 5); }
  LayerPasses operator()(const Lrn& /*kind*/) const { return passes(3, 5); }
  LayerPasses operator()(const BatchNorm& /*kind*/) const {
    if (frozen_norm) return {{2 * out(), 1}, {16 * out(), 10}};
    return {{3 * out(), 2}, {5 * out(), 1}};
  }
  LayerPasses operator()(const LayerNorm& /*kind*/) const { return token_norm(); }
  LayerPasses operator()(const RmsNorm& /*kind*/) const { return token_norm(); }
  LayerPasses operator()(const Dropout& /*kind*/) const { return passes(2, 2); }
  LayerPasses operator()(const Concat& /*kind*/) const { return passes(2, 2); }
  LayerPasses operator()(const Embedding& /*kind*/) const { return passes(2, 2); }
  LayerPasses operator()(const ToTokens& /*kind*/) const { return passes(2, 2); }
  LayerPasses operator()(const Rope& /*kind*/) const { return passes(2, 2); }
  LayerPasses operator()(const Route& /*kind*/) const { return passes(2, 2); }
  LayerPasses operator()(const PositionEmbedding& /*kind*/) const { return passes(1, 1); }
  LayerPasses operator()(const RelativePositions& /*kind*/) const { return passes(1, 1); }
  LayerPasses operator()(const Sum& /*kind*/) const { return added(); }
  LayerPasses operator()(const SoftmaxCrossEntropy& /*kind*/) const {
    return moved(3 * in(), 2 * in());
  }
  LayerPasses operator()(const TokenCrossEntropy& /*kind*/) const {
    return {{4 * in(), 3}, {3 * in(), 2}};
  }
};

}  // namespace

LayerPasses passes_of_layer(const Network& network, const Layer& layer, double batch,
                            const ComputeTraits& way) {
  return std::visit(KindPasses{network, layer, batch, way.elementwise.value(), way.frozen_norm},
                    layer.kind);
}

}  // namespace dlscale::model::sheet
