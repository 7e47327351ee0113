#include "bench/conv/listed_cells.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/network/listed_network.hpp"

namespace dlscale::bench {
namespace {

/// Adds one row for each cell that layer_cells() would make with training's algorithm.
void add_unsupported(const Workbench& workbench, const ListedConvolution& convolution,
                     const LayerSelection& selection, const backend::Communicator& communicator,
                     std::vector<Cell>& cells) {
  auto axes = workbench.axes(communicator);
  axes["network"] = listed_network(convolution.list, convolution.layer);
  axes["layer"] = convolution.layer;
  axes["kernel"] = convolution.kernel;
  axes["batch"] = std::to_string(convolution.batch);
  if (selection.algorithms == Algorithms::all) axes["algorithm"] = std::string("chosen");
  Measurement row;
  row.status = Status::unsupported;
  row.reason = convolution.unsupported;
  for (const Pass pass : selection.passes) {
    if (pass == Pass::accumulate) continue;
    axes["pass"] = pass_name(pass);
    for (const DType dtype : selection.dtypes) {
      axes["dtype"] = dtype_name(dtype);
      for (const auto& [layout, with_layout] : in_all_layouts(selection, axes)) {
        for (auto& [conditions, with_conditions] : in_all_conditions(selection, with_layout)) {
          cells.push_back({std::move(with_conditions), [row](const Sampler&) { return row; }});
        }
      }
    }
  }
}

}  // namespace

std::vector<Cell> listed_cells(const std::shared_ptr<Workbench>& workbench,
                               std::span<const ListedConvolution> convolutions,
                               const LayerSelection& selection,
                               const backend::Communicator& communicator) {
  std::vector<Cell> cells;
  for (const ListedConvolution& convolution : convolutions) {
    if (convolution.network == nullptr) {
      add_unsupported(*workbench, convolution, selection, communicator, cells);
      continue;
    }
    LayerSelection own = selection;
    own.batches = {convolution.batch};
    own.layers = {convolution.layer};
    const std::vector networks{convolution.network};
    std::ranges::move(layer_cells(workbench, networks, own, communicator),
                      std::back_inserter(cells));
  }
  return cells;
}

}  // namespace dlscale::bench
