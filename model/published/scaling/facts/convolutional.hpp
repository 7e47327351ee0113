#pragma once
#include <array>
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

}  // namespace dlscale::model::scaling
