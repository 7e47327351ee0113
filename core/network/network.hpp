#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/ids.hpp"

namespace dlscale {

/// Shape of one image or feature map: channels × height × width, all ≥ 1. A vector of n features is
/// n × 1 × 1.
struct ImageShape {
  int channels = 0;
  int height = 0;
  int width = 0;
  [[nodiscard]] std::int64_t elements() const { return std::int64_t{channels} * height * width; }
  bool operator==(const ImageShape&) const = default;
};

// The kinds of layers. Every field has the name of the layer's paper or framework.

/// The images; always layer 0.
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
/// Weights (outputs, channels · height · width of the input).
struct FullyConnected {
  int outputs = 0;
  bool bias = true;
};
/// Keeps an element with probability 1 - probability and scales it by 1 / (1 - probability).
struct Dropout {
  double probability = 0.5;
};
/// Concatenates along channels.
struct Concat {};
/// Adds elementwise.
struct Sum {};
/// loss_weight · mean over the batch of -log softmax(x)[label].
struct SoftmaxCrossEntropy {
  double loss_weight = 1.0;
};

using LayerKind = std::variant<Input, Convolution, Pooling, Relu, Lrn, BatchNorm, FullyConnected,
                               Dropout, Concat, Sum, SoftmaxCrossEntropy>;

/// Name of a kind in configuration files and results: "convolution", "max_pooling", …
std::string_view kind_name(const LayerKind& kind);

/// Whether the ReLU after a layer of this kind can be fused into it: convolution, batch norm and
/// sum. Fully connected layers gain nothing, because their outputs are small compared with their
/// weights.
bool may_have_relu(const LayerKind& kind);

/// One layer of a network with its shapes for one image.
struct Layer {
  LayerId id;
  std::string name;
  LayerKind kind;
  std::vector<LayerId> inputs;           ///< producers, in order; empty only for Input
  std::vector<ImageShape> input_shapes;  ///< output shapes of those producers
  ImageShape output;                     ///< 1 × 1 × 1 for a loss
  /// Whether the output is max(·, 0) of the kind's result: the ReLU after the layer is fused
  /// (fuse_relu()). Only if may_have_relu().
  bool relu = false;

  [[nodiscard]] std::int64_t weight_count() const;  ///< convolution, fully connected; BN: scale
  [[nodiscard]] std::int64_t bias_count() const;    ///< bias; BN: shift
  [[nodiscard]] std::int64_t parameter_count() const { return weight_count() + bias_count(); }
  /// Multiply-accumulates of the forward pass for one image, including padding. Zero
  /// except for convolution and fully connected layers.
  [[nodiscard]] std::int64_t forward_macs() const;
};

/// A neural network: every producer comes before its consumers, and layer 0 is the input. A
/// constructed network is valid: shapes agree, names are unique, there is ≥ 1 loss and every other
/// layer's output is used.
class Network {
 public:
  /// Infers all shapes. Throws ConfigError that names the layer and both shapes.
  struct Node {
    std::string name;
    LayerKind kind;
    std::vector<std::string> inputs;
    bool relu = false;  ///< as Layer::relu; ConfigError if the kind does not support it
  };
  Network(std::string name, ImageShape input, const std::vector<Node>& nodes);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] ImageShape input() const { return layers_.front().output; }
  [[nodiscard]] const std::vector<Layer>& layers() const { return layers_; }
  [[nodiscard]] const Layer& layer(LayerId id) const { return layers_[id.index()]; }
  /// Layers that read the output of `id`, in network order.
  [[nodiscard]] const std::vector<LayerId>& consumers(LayerId id) const {
    return consumers_[id.index()];
  }
  [[nodiscard]] std::int64_t parameter_count() const;
  [[nodiscard]] std::int64_t forward_macs() const;  ///< per image
  [[nodiscard]] int classes() const;                ///< features of the last loss's input

 private:
  std::string name_;
  std::vector<Layer> layers_;
  std::vector<std::vector<LayerId>> consumers_;
};

/// Reads configs/networks/<name>.yaml, or the file `name` if it has a slash or ends in .yaml.
Network load_network(std::string_view name);

/// A hash that distinguishes networks with the same name, as 16 hexadecimal digits. It depends on
/// the computation of the layers, their order and their inputs; it ignores names, comments and the
/// layout of the file. Two networks with one fingerprint take the same time and learn the same.
std::string fingerprint(const Network& network);

/// Name of the network in which one layer of a list of shapes is measured alone: "convnet_L1" for
/// L1 of convnet. It is the axis "network" of its rows.
std::string listed_network(std::string_view list, std::string_view layer);

/// The list of such a network; any other network itself.
std::string set_of(std::string network, std::string_view layer);

}  // namespace dlscale
