#include "model/roofline/sheet/transformer_passes.hpp"

#include <algorithm>
#include <variant>

namespace dlscale::model::sheet {
namespace {

/// Passes and kernels a direction of the operators of a transformer, as its header lists them.
struct OperatorPasses {
  LayerPasses norm;        ///< by element of its output
  LayerPasses activation;  ///< by element of its output
  LayerPasses scores;      ///< by element; kernels of attention
  LayerPasses copies;      ///< by element of one of four tensors
  LayerPasses cross;       ///< kernels of attention to another sequence
};

constexpr OperatorPasses primitive{{{9, 12}, {16, 24}},
                                   {{12, 9}, {20, 16}},
                                   {{11, 22}, {13, 36}},
                                   {{8, 0}, {8, 0}},
                                   {{0, 15.5}, {0, 26}}};
constexpr OperatorPasses kernels{
    {{5, 3}, {8, 6}}, {{4, 2}, {5, 3}}, {{8, 14}, {9, 21}}, {{8, 0}, {8, 0}}, {{0, 8}, {0, 12}}};
constexpr OperatorPasses compiled{
    {{2.5, 1}, {4, 2}}, {{2, 1}, {3, 2}}, {{4, 7}, {5, 12}}, {{4, 0}, {6, 0}}, {{0, 4}, {0, 7}}};
constexpr OperatorPasses epilogue{
    {{2.5, 1}, {4, 2}}, {{1, 0}, {2, 1}}, {{4, 6}, {5, 9}}, {{1, 0}, {2, 0}}, {{0, 3}, {0, 5}}};

const OperatorPasses& operators(Elementwise elementwise) {
  switch (elementwise) {
    case Elementwise::primitive:
      return primitive;
    case Elementwise::all:
      return compiled;
    case Elementwise::epilogue:
      return epilogue;
    default:
      return kernels;
  }
}

LayerPasses over(double elements, const LayerPasses& each) {
  return {{elements * each.forward.elements, each.forward.kernels},
          {elements * each.backward.elements, each.backward.kernels}};
}

LayerPasses sum(LayerPasses one, const LayerPasses& other) {
  one.forward += other.forward;
  one.backward += other.backward;
  return one;
}

/// Kernels that fused attention saves.
constexpr double fused_forward = 2;
constexpr double fused_backward = 3;
constexpr double tensors_of_attention = 4;

struct TransformerPasses {
  const Network& network;
  const TransformerParts& parts;
  const Layer& layer;
  double batch;
  const ComputeTraits& way;

  [[nodiscard]] const OperatorPasses& each() const { return operators(way.elementwise.value()); }
  [[nodiscard]] double elements(ImageShape shape) const {
    return batch * static_cast<double>(shape.elements());
  }
  [[nodiscard]] double out() const { return elements(layer.output); }
  [[nodiscard]] TransformerPart part() const { return parts.of(layer.id); }
  [[nodiscard]] bool copies_are_fused() const {
    return way.elementwise == Elementwise::all || way.elementwise == Elementwise::epilogue;
  }

  [[nodiscard]] LayerPasses norm() const {
    const bool counted = part() == TransformerPart::block || part() == TransformerPart::other_head;
    return counted ? over(out(), each().norm) : LayerPasses{};
  }
  [[nodiscard]] LayerPasses activation() const {
    if (part() == TransformerPart::words) return over(out(), {{6, 4}, {8, 6}});
    return over(out(), each().activation);
  }

  template <class Kind>
  LayerPasses operator()(const Kind& /*kind*/) const {
    return passes_of_layer(network, layer, batch, way);
  }
  LayerPasses operator()(const Linear& /*kind*/) const { return {}; }
  LayerPasses operator()(const Sum& /*kind*/) const { return {}; }
  LayerPasses operator()(const Dropout& /*kind*/) const { return {}; }
  LayerPasses operator()(const LayerNorm& /*kind*/) const { return norm(); }
  LayerPasses operator()(const RmsNorm& /*kind*/) const { return norm(); }
  LayerPasses operator()(const Relu& /*kind*/) const { return activation(); }
  LayerPasses operator()(const Activation& /*kind*/) const { return activation(); }
  LayerPasses operator()(const SiluMultiply& /*kind*/) const {
    return sum(activation(), {{out(), 0}, {out(), 0}});
  }
  LayerPasses operator()(const Rope& kind) const {
    if (copies_are_fused()) return {};
    return operator()<Rope>(kind);
  }
  LayerPasses operator()(const Embedding& /*kind*/) const {
    if (part() != TransformerPart::embedding) return {};
    return over(out(), {{8, 6}, {8, 8}});
  }
  LayerPasses operator()(const PositionEmbedding& kind) const {
    if (part() == TransformerPart::embedded) return {};
    return operator()<PositionEmbedding>(kind);
  }
  LayerPasses operator()(const AttentionSoftmax& /*kind*/) const {
    const Layer& scores = network.layer(layer.inputs.front());
    const Layer& context = network.layer(network.consumers(layer.id).front());
    const bool cross = parts.is_cross(scores);
    LayerPasses passes = over(out(), each().scores);
    if (cross) {
      passes.forward.kernels = each().cross.forward.kernels;
      passes.backward.kernels = each().cross.backward.kernels;
    }
    if (way.fused_attention) {
      passes.forward = {0, std::max(0.0, passes.forward.kernels - fused_forward)};
      passes.backward = {0, std::max(0.0, passes.backward.kernels - fused_backward)};
    }
    const double keys = elements(scores.input_shapes[1]) + elements(context.input_shapes[1]);
    double copied = elements(scores.input_shapes[0]) + elements(context.output);
    copied += parts.own_keys(scores) * keys;
    copied /= tensors_of_attention * (cross ? 2 : 1);
    return sum(passes, over(copied, each().copies));
  }
};

}  // namespace

LayerPasses passes_of_transformer(const Network& network, const TransformerParts& parts,
                                  const Layer& layer, double batch, const ComputeTraits& way) {
  const LayerPasses passes =
      std::visit(TransformerPasses{network, parts, layer, batch, way}, layer.kind);
  const double rows = parts.computed_rows(layer.id, way);
  if (rows == 0) return {};
  return {{rows * passes.forward.elements, passes.forward.kernels},
          {rows * passes.backward.elements, passes.backward.kernels}};
}

}  // namespace dlscale::model::sheet
