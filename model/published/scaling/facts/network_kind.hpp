#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "model/published/scaling/facts/tensors.hpp"

namespace dlscale::model::scaling {

/// Layers of families of convolutional networks for images of 224 × 224 in 1000 classes. Each
/// convolution includes its normalisation and activation.

/// The shape of a ResNet of bottleneck blocks.
struct Bottlenecks {
  std::vector<int> blocks;  ///< number of blocks in each stage
  int groups = 1;           ///< 32: ResNeXt with 4 channels a group
  bool squeeze_and_excite =
      false;  /// reweighs channels at the end of each block [arXiv:1709.01507]
};
/// ResNet with the stride in the 3 × 3 convolution [arXiv:1512.03385], or ResNeXt
/// [arXiv:1611.05431].
std::vector<LayerWork> resnet(const Bottlenecks& shape);

/// ResNet of blocks of two 3 × 3 convolutions [arXiv:1512.03385].
std::vector<LayerWork> plain_resnet(const std::vector<int>& blocks);

/// The shape of a DenseNet.
struct DenseBlocks {
  std::array<int, 4> layers = {};  ///< number of layers in each block
  int growth = 32;                 ///< channels that a layer adds
  int first = 64;                  ///< channels of the first convolution
};
/// DenseNet with bottlenecks and compression by one half [arXiv:1608.06993].
std::vector<LayerWork> densenet(const DenseBlocks& shape);

/// The letters and digits of a name, in lower case.
std::string plain_name(std::string_view name);

/// Facts about gradients and samples that the name of a network implies.
struct NetworkKind {
  /// The beginning of its plain name.
  std::string_view name = {};
  /// The file of configs/networks that has its layers; empty: there is none.
  std::string_view file = {};
  /// Generates its layers; nullptr: not known.
  std::vector<LayerWork> (*build)() = nullptr;
  /// Whether those layers are only a part of it, a backbone that stands for the rest.
  bool part = false;
  /// Tensors of the part behind those layers. They are ready within the first tenth of backward.
  std::vector<GradientTensor> behind = {};
  /// Number of its tensors, if no layers are known.
  int tensors = 160;
  Attention attention = Attention::own;
  /// Whether samples of a batch differ in length or size, so that the work of workers differs.
  bool uneven_samples = false;
};

/// The kind with the longest name that the network's plain name begins with. If there is none, a
/// kind without layers and with even samples.
const NetworkKind& network_kind(std::string_view name);

}  // namespace dlscale::model::scaling
