#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/ids.hpp"

namespace dlscale {

/// The shape of one image or feature map: channels × height × width, all ≥ 1.
/// A vector of n features is n × 1 × 1.
struct ImageShape {
  int channels = 0;
  int height = 0;
  int width = 0;
  [[nodiscard]] std::int64_t elements() const { return std::int64_t{channels} * height * width; }
  bool operator==(const ImageShape&) const = default;
};

// The kinds of layers. Every field is what the layer's paper or framework calls it.

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
/// Windows may hang over the right and bottom edge when `ceil_mode`; average pooling divides by
/// the number of elements inside the image. A kernel of 0 × 0 stands for the whole input (global
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
/// Keeps an element with 1 - probability and scales it by 1 / (1 - probability).
struct Dropout {
  double probability = 0.5;
};
/// Along channels.
struct Concat {};
/// Elementwise.
struct Sum {};
/// loss_weight · mean over the batch of -log softmax(x)[label].
struct SoftmaxCrossEntropy {
  double loss_weight = 1.0;
};

using LayerKind = std::variant<Input, Convolution, Pooling, Relu, Lrn, BatchNorm, FullyConnected,
                               Dropout, Concat, Sum, SoftmaxCrossEntropy>;

/// The word for a kind in configuration files and results: "convolution", "max_pooling", …
std::string_view kind_name(const LayerKind& kind);

/// Whether layers of a kind can take in the ReLU after them: convolution, batch norm and sum. Not
/// fully connected ones, whose outputs are so small beside their weights that nothing is gained.
bool may_have_relu(const LayerKind& kind);

/// One layer of a network with its shapes for one image.
struct Layer {
  LayerId id;
  std::string name;
  LayerKind kind;
  std::vector<LayerId> inputs;           ///< producers, in order; empty only for Input
  std::vector<ImageShape> input_shapes;  ///< of those producers
  ImageShape output;                     ///< of a loss: 1 × 1 × 1
  /// The output is max(·, 0) of what the kind computes: the layer has taken in the ReLU after it
  /// (fuse_relu()). Only where may_have_relu().
  bool relu = false;

  [[nodiscard]] std::int64_t weight_count() const;  ///< convolution, fully connected; BN: scale
  [[nodiscard]] std::int64_t bias_count() const;    ///< bias; BN: shift
  [[nodiscard]] std::int64_t parameter_count() const { return weight_count() + bias_count(); }
  /// Multiply-accumulates of the forward pass for one image, padding counted (MODEL 4.1).
  /// Zero for everything but convolution and fully connected layers.
  [[nodiscard]] std::int64_t forward_macs() const;
};

/// A neural network: layers in an order in which every producer comes before its consumers.
/// Layer 0 is the input. Valid once built: shapes agree, names are unique, there is ≥ 1 loss and
/// every other layer's output is used.
class Network {
 public:
  /// Infers all shapes. Throws ConfigError that names the layer and both shapes.
  struct Node {
    std::string name;
    LayerKind kind;
    std::vector<std::string> inputs;
    bool relu = false;  ///< as Layer::relu; ConfigError where the kind cannot
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
  [[nodiscard]] int classes() const;                ///< features that enter the last loss

 private:
  std::string name_;
  std::vector<Layer> layers_;
  std::vector<std::vector<LayerId>> consumers_;
};

/// Reads configs/networks/<name>.yaml, or the file `name` if it has a slash or ends in .yaml.
Network load_network(std::string_view name);

}  // namespace dlscale
