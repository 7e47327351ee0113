#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.hpp"
#include "core/network/layer_kind.hpp"

namespace dlscale {

/// One layer of a network with its shapes for one sample: an image, or a sequence of tokens.
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

  /// Weights that the layer reads: its own, or those of another layer (shares_weights()). For
  /// normalisations the scale; of experts all.
  [[nodiscard]] std::int64_t read_weight_count() const;
  [[nodiscard]] std::int64_t weight_count() const;  ///< those of its own
  [[nodiscard]] std::int64_t bias_count() const;    ///< bias; for normalisations the shift
  [[nodiscard]] std::int64_t parameter_count() const { return weight_count() + bias_count(); }
  /// Multiply-accumulates of the forward pass for one sample, including padding and masked scores.
  /// Experts count if they run. Zero except for layers that multiply matrices.
  [[nodiscard]] std::int64_t forward_macs() const;
};

/// A neural network: every producer comes before its consumers, and layer 0 is the input. A
/// constructed network is valid: shapes agree, names are unique, there is ≥ 1 loss and every other
/// layer's output is used. Layers that share weights have equally many, and the owner comes first.
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
  [[nodiscard]] std::int64_t forward_macs() const;  ///< per sample
  [[nodiscard]] int classes() const;                ///< features of the last loss's input
  /// Whether a sample is a sequence of tokens, not an image: a layer embeds the input.
  [[nodiscard]] bool is_over_sequences() const { return is_over_sequences_; }
  /// Whether a layer computes attention, as in transformers over sequences or, as ViT, over images.
  [[nodiscard]] bool has_attention() const { return has_attention_; }
  /// "images" or "sequences".
  [[nodiscard]] std::string_view samples() const;

 private:
  std::string name_;
  std::vector<Layer> layers_;
  std::vector<std::vector<LayerId>> consumers_;
  bool is_over_sequences_ = false;
  bool has_attention_ = false;
};

/// Reads configs/networks/<name>.yaml, or the file `name` if it has a slash or ends in .yaml.
/// Throws ConfigError.
Network load_network(std::string_view name);

/// The same for sequences of `tokens`; 0: as many as the file says. Throws ConfigError, also for a
/// network whose file has no number "tokens" to choose.
Network load_network_for(std::string_view name, int tokens);

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
