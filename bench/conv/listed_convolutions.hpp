#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/network/network.hpp"

namespace dlscale::bench {

/// A convolution of a list, as a layer of a small network of its own, so that it is measured as the
/// layers of networks are: its input lies as the layer before it leaves it (another convolution; of
/// up to 4 channels a batch norm, which leaves pictures as they come), and it has all three passes.
struct ListedConvolution {
  std::string list;
  std::string layer;  ///< its name in the list, and in the network
  int batch = 1;
  std::string kernel;                      ///< kernel_key()
  std::shared_ptr<const Network> network;  ///< null where dlscale has no such layer
  std::string unsupported;                 ///< why, else empty
};

/// The convolutions of configs/shapes/<name>.yaml, or of the file of that path. Convolutions whose
/// strides or paddings are not the same in both directions, or whose filters are dilated, are
/// unsupported. Throws ConfigError.
std::vector<ListedConvolution> load_convolutions(std::string_view name);

}  // namespace dlscale::bench
