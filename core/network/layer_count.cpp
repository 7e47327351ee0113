#include <cstdint>
#include <variant>

#include "core/network/network.hpp"

namespace dlscale {
namespace {

/// Weights that a layer reads. Kinds without weights have none.
struct Weights {
  const Layer& layer;

  [[nodiscard]] const ImageShape& in() const { return layer.input_shapes.front(); }

  template <class Kind>
  std::int64_t operator()(const Kind& /*kind*/) const {
    return 0;
  }
  std::int64_t operator()(const BatchNorm& /*kind*/) const { return layer.output.channels; }
  std::int64_t operator()(const LayerNorm& /*kind*/) const { return layer.output.channels; }
  std::int64_t operator()(const RmsNorm& /*kind*/) const { return layer.output.channels; }
  std::int64_t operator()(const Convolution& kind) const {
    return std::int64_t{kind.out_channels} * (in().channels / kind.groups) * kind.kernel_h *
           kind.kernel_w;
  }
  std::int64_t operator()(const TransposedConvolution& kind) const {
    return std::int64_t{kind.out_channels} * in().channels * kind.kernel * kind.kernel;
  }
  std::int64_t operator()(const FullyConnected& kind) const {
    return kind.outputs * in().elements();
  }
  std::int64_t operator()(const Linear& kind) const {
    return std::int64_t{kind.outputs} * in().channels;
  }
  std::int64_t operator()(const ExpertLinear& kind) const {
    const int experts = layer.input_shapes.back().channels;
    return std::int64_t{kind.outputs} * in().channels * experts;
  }
  std::int64_t operator()(const Embedding& kind) const {
    return std::int64_t{kind.rows} * kind.outputs;
  }
  std::int64_t operator()(const PositionEmbedding& kind) const {
    return std::int64_t{kind.rows} * kind.outputs;
  }
  std::int64_t operator()(const RelativePositions& kind) const {
    return std::int64_t{kind.buckets} * kind.heads;
  }
  std::int64_t operator()(const RelativeScores& /*kind*/) const {
    return std::int64_t{in().channels} * in().channels;
  }
  std::int64_t operator()(const ToTokens& kind) const {
    const int rows = (kind.class_token ? 1 : 0) + (kind.positions ? layer.output.height : 0);
    return std::int64_t{in().channels} * rows;
  }
};

struct Biases {
  const Layer& layer;

  template <class Kind>
  std::int64_t operator()(const Kind& /*kind*/) const {
    return 0;
  }
  std::int64_t operator()(const Convolution& kind) const { return outputs_if(kind.bias); }
  std::int64_t operator()(const TransposedConvolution& kind) const { return outputs_if(kind.bias); }
  std::int64_t operator()(const FullyConnected& kind) const { return outputs_if(kind.bias); }
  std::int64_t operator()(const Linear& kind) const { return outputs_if(kind.bias); }
  std::int64_t operator()(const BatchNorm& /*kind*/) const { return outputs_if(true); }
  std::int64_t operator()(const LayerNorm& /*kind*/) const { return outputs_if(true); }

 private:
  [[nodiscard]] std::int64_t outputs_if(bool bias) const {
    return bias ? layer.output.channels : 0;
  }
};

struct Macs {
  const Layer& layer;

  [[nodiscard]] const ImageShape& in() const { return layer.input_shapes.front(); }
  [[nodiscard]] std::int64_t pixels() const {
    return std::int64_t{layer.output.height} * layer.output.width;
  }
  [[nodiscard]] std::int64_t per_pixel() const { return layer.read_weight_count() * pixels(); }

  template <class Kind>
  std::int64_t operator()(const Kind& /*kind*/) const {
    return 0;
  }
  std::int64_t operator()(const Convolution& /*kind*/) const { return per_pixel(); }
  std::int64_t operator()(const FullyConnected& /*kind*/) const { return per_pixel(); }
  std::int64_t operator()(const Linear& /*kind*/) const { return per_pixel(); }
  std::int64_t operator()(const TransposedConvolution& /*kind*/) const {
    return layer.read_weight_count() * in().height * in().width;
  }
  /// A row of outputs for each token and expert.
  std::int64_t operator()(const ExpertLinear& kind) const {
    const ImageShape& route = layer.input_shapes.back();
    return layer.read_weight_count() / route.channels * route.height * kind.active;
  }
  std::int64_t operator()(const AttentionScores& kind) const {
    return layer.output.elements() * (in().channels / kind.heads);
  }
  /// Vectors of places are made once for a batch, and do not count.
  std::int64_t operator()(const RelativeScores& kind) const {
    return layer.output.elements() * (in().channels / kind.heads);
  }
  std::int64_t operator()(const AttentionContext& /*kind*/) const {
    return layer.output.elements() * in().width;
  }
};

}  // namespace

std::int64_t Layer::read_weight_count() const {
  return std::visit(Weights{*this}, kind);
}

std::int64_t Layer::weight_count() const {
  return weights_of(kind).empty() ? read_weight_count() : 0;
}

std::int64_t Layer::bias_count() const {
  return std::visit(Biases{*this}, kind);
}

std::int64_t Layer::forward_macs() const {
  return std::visit(Macs{*this}, kind);
}

}  // namespace dlscale
