#include "bench/conv/layer_cells.hpp"

#include <map>
#include <utility>

namespace dlscale::bench {
namespace {

using Axes = std::map<std::string, std::string>;

Axes kernel_axes(Axes axes, const Network& network, const Kernel& kernel) {
  axes["network"] = network.name();
  axes["layer"] = network.layer(kernel.step.layer).name;
  axes["kernel"] = kernel.key;
  axes["pass"] = pass_name(kernel.step.pass);
  return axes;
}

/// The states of the caches share one check.
void add_cells(const std::shared_ptr<StepBench>& bench, const Axes& axes,
               std::span<const CacheState> caches, std::vector<Cell>& cells) {
  for (const CacheState cache : caches) {
    Axes with_cache = axes;
    with_cache["cache"] = cache_state_name(cache);
    cells.push_back({std::move(with_cache), [bench, cache](const Sampler& sampler) {
                       return bench->measure(sampler, cache);
                     }});
  }
}

}  // namespace

std::vector<Cell> layer_cells(const std::shared_ptr<Workbench>& workbench,
                              std::span<const std::shared_ptr<const Network>> networks,
                              const LayerSelection& selection,
                              const backend::Communicator& communicator) {
  std::vector<Cell> cells;
  for (const auto& network : networks) {
    const std::vector<LayerId> layers = parse_layers(*network, selection.layers);
    for (const Kernel& kernel : distinct_kernels(*network, selection.passes, layers)) {
      Axes axes = kernel_axes(workbench->axes(communicator), *network, kernel);
      for (const DType dtype : selection.dtypes) {
        axes["dtype"] = dtype_name(dtype);
        for (const int batch : selection.batches) {
          axes["batch"] = std::to_string(batch);
          const auto bench = std::make_shared<StepBench>(workbench, network, kernel, batch, dtype,
                                                         selection.check);
          add_cells(bench, axes, selection.caches, cells);
        }
      }
    }
  }
  return cells;
}

}  // namespace dlscale::bench
