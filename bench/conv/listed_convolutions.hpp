#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/conv/layer_cells.hpp"
#include "core/network/network.hpp"

namespace dlscale::bench {

/// A convolution of a list, as a layer of its own small network, so that it is measured like a
/// network's layers with all three passes. A preceding layer determines the layout of its input:
/// another convolution, or, up to 4 channels, a batch norm, which keeps the layout of images.
struct ListedConvolution {
  std::string list;
  std::string layer;  ///< its name in the list and in the network
  int batch = 1;
  std::string kernel;                      ///< kernel_key()
  std::shared_ptr<const Network> network;  ///< null if dlscale has no such layer
  std::string unsupported;                 ///< the reason; empty if supported
};

/// The convolutions of configs/shapes/<name>.yaml, or of a file with that path. Convolutions with
/// unequal strides or paddings in the two directions, or with dilation, are unsupported. Throws
/// ConfigError.
std::vector<ListedConvolution> load_convolutions(std::string_view name);

/// The cells of listed convolutions, as layer_cells() makes them of networks; batches and layers
/// come from the list. A convolution without an equivalent layer gives a row with the reason.
std::vector<Cell> listed_cells(const std::shared_ptr<Workbench>& workbench,
                               std::span<const ListedConvolution> convolutions,
                               const LayerSelection& selection,
                               const backend::Communicator& communicator);

}  // namespace dlscale::bench
