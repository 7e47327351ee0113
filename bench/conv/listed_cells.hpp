#pragma once
#include <memory>
#include <span>
#include <vector>

#include "bench/conv/layer_cells.hpp"
#include "bench/conv/listed_convolutions.hpp"

namespace dlscale::bench {

/// The cells of listed convolutions, as layer_cells() makes them of networks; batches and layers
/// come from the list. A convolution without an equivalent layer gives a row with the reason.
std::vector<Cell> listed_cells(const std::shared_ptr<Workbench>& workbench,
                               std::span<const ListedConvolution> convolutions,
                               const LayerSelection& selection,
                               const backend::Communicator& communicator);

}  // namespace dlscale::bench
