#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace dlscale {

/// Shape of one sample or feature map: channels × height × width, all ≥ 1. A vector of n features
/// is n × 1 × 1. A sequence of T tokens with n features each is n × T × 1.
struct ImageShape {
  int channels = 0;
  int height = 0;
  int width = 0;
  [[nodiscard]] std::int64_t elements() const { return std::int64_t{channels} * height * width; }
  bool operator==(const ImageShape&) const = default;
};

// The kinds of layers. Every field has the name of the layer's paper or framework.

/// The images, or the tokens of sequences (1 × T × 1); always layer 0.
struct Input {};
/// Cross-correlation, weights (out_channels, in_channels / groups, kernel_h, kernel_w).
struct Convolution {
  int out_channels = 0;
  int kernel_h = 0;
  int kernel_w = 0;
  int stride = 1;
  int pad = 0;
  int groups = 1;
  bool bias = true;
  int stride_w = 0;  ///< along the width; 0: as stride
  int pad_w = -1;    ///< along the width; -1: as pad
  int dilation = 1;  ///< distance of the filter's taps
  [[nodiscard]] int stride_along_width() const { return stride_w == 0 ? stride : stride_w; }
  [[nodiscard]] int pad_along_width() const { return pad_w < 0 ? pad : pad_w; }
  /// Whether one stride and one pad hold in both directions, and the filter has no holes.
  [[nodiscard]] bool is_plain() const {
    return stride_along_width() == stride && pad_along_width() == pad && dilation == 1;
  }
};
/// The convolution whose backward_data this is; out = (in - 1) · stride + kernel. Weights
/// (in_channels, out_channels, kernel, kernel).
struct TransposedConvolution {
  int out_channels = 0;
  int kernel = 0;
  int stride = 1;
  bool bias = true;
};
enum class PoolingKind { max, average };
/// Windows may extend over the right and bottom edge if `ceil_mode` is set; average pooling divides
/// by the number of elements inside the image. A kernel of 0 × 0 means the whole input (global
/// pooling); Network replaces it by the input's size.
struct Pooling {
  PoolingKind kind = PoolingKind::max;
  int kernel_h = 0;
  int kernel_w = 0;
  int stride = 1;
  int pad = 0;
  bool ceil_mode = false;
};
struct Relu {};
enum class ActivationFunction { sigmoid, gelu, silu };
/// sigmoid(x) = 1 / (1 + e^-x), GELU x · Φ(x) [arXiv:1606.08415], SiLU x · sigmoid(x).
struct Activation {
  ActivationFunction function = ActivationFunction::sigmoid;
};
/// Multiplies each channel of the first input by one number, the second input (C × 1 × 1)
/// [squeeze and excitation, arXiv:1709.01507].
struct Scale {};
/// silu(first input) · second input, element by element [SwiGLU, arXiv:2002.05202].
struct SiluMultiply {};
/// Across channels: y = x / (k + alpha/size · Σ x²)^beta   [Krizhevsky et al. 2012, Caffe's alpha]
struct Lrn {
  int size = 5;
  double alpha = 1e-4;
  double beta = 0.75;
  double k = 1.0;
};
/// Training form: statistics of the batch, learned scale and shift per channel.
struct BatchNorm {
  double epsilon = 1e-5;
};
/// Normalises the features of each token, with a learned scale and shift [arXiv:1607.06450].
struct LayerNorm {};
/// As LayerNorm, without mean and shift [arXiv:1910.07467].
struct RmsNorm {};
/// Weights (outputs, channels · height · width of the input).
struct FullyConnected {
  int outputs = 0;
  bool bias = true;
};
/// The same product for each token or pixel: weights (outputs, channels of the input).
struct Linear {
  int outputs = 0;
  bool bias = true;
  std::string weights_of;  ///< a layer before it with the same weights; empty: its own
};
/// Keeps an element with probability 1 - probability and scales it by 1 / (1 - probability).
struct Dropout {
  double probability = 0.5;
};
/// Concatenates along channels.
struct Concat {};
/// Adds elementwise.
struct Sum {};

/// A row of a table (rows, outputs) for each token of the input.
struct Embedding {
  int rows = 0;
  int outputs = 0;
  std::string weights_of;  ///< as Linear::weights_of
};
/// Row t of a table (rows, outputs) for the token at place t; reads only the number of tokens.
struct PositionEmbedding {
  int rows = 0;
  int outputs = 0;
};
/// Learned bias of each head and distance of two tokens: a table (buckets, heads), read into
/// heads × T × T [T5, arXiv:1910.10683].
struct RelativePositions {
  int buckets = 0;
  int heads = 0;
};
/// The states of the `tokens` before a sequence, kept from the step before, then its own: C × T × 1
/// to C × (tokens + T) × 1. No gradient reaches the former [Transformer-XL, arXiv:1901.02860].
struct AttentionMemory {
  int tokens = 0;
};
/// Q · Rᵀ for each head, of queries (C × T) and a vector of C features for each of the S places of
/// the second input: heads × T × S, to be added to scores [arXiv:1901.02860, term b]. The vectors
/// are products of weights (C, C) and sinusoids, made once for a batch. Biases of queries are left
/// out.
struct RelativeScores {
  int heads = 0;
};
/// Makes C × H × W a sequence of H · W tokens, after a learned one if `class_token` is set. Adds a
/// learned row to each if `positions` is set [ViT, arXiv:2010.11929].
struct ToTokens {
  bool class_token = false;
  bool positions = false;
};
/// The first token of a sequence: C × T × 1 to C × 1 × 1.
struct FirstToken {};
/// Turns pairs of features by an angle of the token's place [arXiv:2104.09864].
struct Rope {};
/// Q · Kᵀ / √d for each head, of queries (heads · d × T) and keys (kv_heads · d × S): heads × T ×
/// S. Several heads may share a key. `causal` masks keys behind the query; they are computed and
/// counted all the same.
struct AttentionScores {
  int heads = 0;
  int kv_heads = 0;
  bool causal = false;
};
/// Softmax over the keys of each head and query. A second input, such as RelativePositions, is
/// added before.
struct AttentionSoftmax {};
/// P · V for each head, of weights (heads × T × S) and values (kv_heads · d × S): heads · d × T.
struct AttentionContext {
  int kv_heads = 0;
};
/// Softmax over the experts of each token (experts × T × 1).
struct Route {};
/// Linear layers, of which each token takes the `active` that a Route, the second input, weighs
/// most. T tokens give active · T rows, one for each token and expert. Such rows give T tokens
/// again, as sums weighted by the route. Weights (experts, outputs, inputs), no bias
/// [arXiv:2401.04088].
struct ExpertLinear {
  int outputs = 0;
  int active = 0;
};

/// loss_weight · mean over the batch of -log softmax(x)[label].
struct SoftmaxCrossEntropy {
  double loss_weight = 1.0;
};
/// As SoftmaxCrossEntropy, for each token or pixel over the channels: a vocabulary, or classes of
/// pixels.
struct TokenCrossEntropy {};

using LayerKind =
    std::variant<Input, Convolution, TransposedConvolution, Pooling, Relu, Activation, Scale,
                 SiluMultiply, Lrn, BatchNorm, LayerNorm, RmsNorm, FullyConnected, Linear, Dropout,
                 Concat, Sum, Embedding, PositionEmbedding, RelativePositions, AttentionMemory,
                 RelativeScores, ToTokens, FirstToken, Rope, AttentionScores, AttentionSoftmax,
                 AttentionContext, Route, ExpertLinear, SoftmaxCrossEntropy, TokenCrossEntropy>;

/// Name of a kind in configuration files and results: "convolution", "max_pooling", …
std::string_view kind_name(const LayerKind& kind);

/// Whether the ReLU after a layer of this kind can be fused into it: convolution, batch norm and
/// sum. Fully connected layers gain nothing, because their outputs are small compared with their
/// weights.
bool may_have_relu(const LayerKind& kind);

bool is_loss(const LayerKind& kind);

/// Whether gradients of the layer's own parameters come with backward_data, not from a pass of
/// their own: batch, layer and RMS norm.
bool is_norm(const LayerKind& kind);

/// The layer whose weights it uses; empty: its own, or none.
std::string_view weights_of(const LayerKind& kind);

/// Whether compute backends and the engine offer the layer: those of CNNs, with plain convolutions
/// (Convolution::is_plain()).
bool is_offered(const LayerKind& kind);

}  // namespace dlscale
