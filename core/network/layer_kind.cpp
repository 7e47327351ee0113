#include "core/network/layer_kind.hpp"

#include "core/base/error.hpp"

namespace dlscale {
namespace {

std::string_view function_word(ActivationFunction function) {
  switch (function) {
    case ActivationFunction::sigmoid:
      return "sigmoid";
    case ActivationFunction::gelu:
      return "gelu";
    case ActivationFunction::silu:
      return "silu";
  }
  fail_expectation("function is an ActivationFunction");
}

struct KindName {
  std::string_view operator()(const Input& /*kind*/) const { return "input"; }
  std::string_view operator()(const Convolution& /*kind*/) const { return "convolution"; }
  std::string_view operator()(const TransposedConvolution& /*kind*/) const {
    return "transposed_convolution";
  }
  std::string_view operator()(const Relu& /*kind*/) const { return "relu"; }
  std::string_view operator()(const Scale& /*kind*/) const { return "scale"; }
  std::string_view operator()(const SiluMultiply& /*kind*/) const { return "silu_multiply"; }
  std::string_view operator()(const Lrn& /*kind*/) const { return "lrn"; }
  std::string_view operator()(const BatchNorm& /*kind*/) const { return "batch_norm"; }
  std::string_view operator()(const LayerNorm& /*kind*/) const { return "layer_norm"; }
  std::string_view operator()(const RmsNorm& /*kind*/) const { return "rms_norm"; }
  std::string_view operator()(const FullyConnected& /*kind*/) const { return "fully_connected"; }
  std::string_view operator()(const Linear& /*kind*/) const { return "linear"; }
  std::string_view operator()(const Dropout& /*kind*/) const { return "dropout"; }
  std::string_view operator()(const Concat& /*kind*/) const { return "concat"; }
  std::string_view operator()(const Sum& /*kind*/) const { return "sum"; }
  std::string_view operator()(const Embedding& /*kind*/) const { return "embedding"; }
  std::string_view operator()(const PositionEmbedding& /*kind*/) const {
    return "position_embedding";
  }
  std::string_view operator()(const RelativePositions& /*kind*/) const {
    return "relative_positions";
  }
  std::string_view operator()(const AttentionMemory& /*kind*/) const { return "attention_memory"; }
  std::string_view operator()(const RelativeScores& /*kind*/) const { return "relative_scores"; }
  std::string_view operator()(const ToTokens& /*kind*/) const { return "to_tokens"; }
  std::string_view operator()(const FirstToken& /*kind*/) const { return "first_token"; }
  std::string_view operator()(const Rope& /*kind*/) const { return "rope"; }
  std::string_view operator()(const AttentionScores& /*kind*/) const { return "attention_scores"; }
  std::string_view operator()(const AttentionSoftmax& /*kind*/) const {
    return "attention_softmax";
  }
  std::string_view operator()(const AttentionContext& /*kind*/) const {
    return "attention_context";
  }
  std::string_view operator()(const Route& /*kind*/) const { return "route"; }
  std::string_view operator()(const ExpertLinear& /*kind*/) const { return "expert_linear"; }
  std::string_view operator()(const SoftmaxCrossEntropy& /*kind*/) const {
    return "softmax_cross_entropy";
  }
  std::string_view operator()(const TokenCrossEntropy& /*kind*/) const {
    return "token_cross_entropy";
  }
  std::string_view operator()(const Activation& kind) const { return function_word(kind.function); }
  std::string_view operator()(const Pooling& kind) const {
    return kind.kind == PoolingKind::max ? "max_pooling" : "average_pooling";
  }
};

template <class... Kinds>
bool is_any_of(const LayerKind& kind) {
  return (std::holds_alternative<Kinds>(kind) || ...);
}

}  // namespace

std::string_view kind_name(const LayerKind& kind) {
  return std::visit(KindName{}, kind);
}

bool may_have_relu(const LayerKind& kind) {
  return is_any_of<Convolution, BatchNorm, Sum>(kind);
}

bool is_loss(const LayerKind& kind) {
  return is_any_of<SoftmaxCrossEntropy, TokenCrossEntropy>(kind);
}

bool is_norm(const LayerKind& kind) {
  return is_any_of<BatchNorm, LayerNorm, RmsNorm>(kind);
}

std::string_view weights_of(const LayerKind& kind) {
  if (const auto* linear = std::get_if<Linear>(&kind)) return linear->weights_of;
  if (const auto* embedding = std::get_if<Embedding>(&kind)) return embedding->weights_of;
  return "";
}

bool is_offered(const LayerKind& kind) {
  if (const auto* convolution = std::get_if<Convolution>(&kind)) return convolution->is_plain();
  return is_any_of<Input, Pooling, Relu, Lrn, BatchNorm, FullyConnected, Dropout, Concat, Sum,
                   SoftmaxCrossEntropy>(kind);
}

}  // namespace dlscale
