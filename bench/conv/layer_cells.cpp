#include "bench/conv/layer_cells.hpp"

#include <map>
#include <optional>
#include <utility>

#include "core/error.hpp"

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

bool is_convolution(const Network& network, Step step) {
  return step.pass != Pass::accumulate &&
         std::holds_alternative<Convolution>(network.layer(step.layer).kind);
}

/// The ways a device knows to run a kernel; none of a network it cannot run at all.
std::vector<backend::Algorithm> algorithms_of(Workbench& workbench, const Network& network,
                                              Step step, int batch, DType dtype) {
  try {
    const train::ProgramPlan& plan = workbench.plan(network, batch, dtype);
    return workbench.device().algorithms(plan.specs[step.layer.index()], step.pass);
  } catch (const Unsupported&) {
    return {};
  }
}

class Lister {
 public:
  Lister(const std::shared_ptr<Workbench>& workbench, const LayerSelection& selection)
      : workbench_(&workbench), selection_(&selection) {}

  void add(const std::shared_ptr<const Network>& network, const Kernel& kernel, Axes axes) {
    for (const DType dtype : selection_->dtypes) {
      axes["dtype"] = dtype_name(dtype);
      for (const int batch : selection_->batches) {
        axes["batch"] = std::to_string(batch);
        add(network, kernel, axes, batch, dtype);
      }
    }
  }

  [[nodiscard]] std::vector<Cell> list() && { return std::move(cells_); }

 private:
  void add(const std::shared_ptr<const Network>& network, const Kernel& kernel, Axes axes,
           int batch, DType dtype) {
    const auto add_bench = [&](std::optional<backend::Algorithm> algorithm) {
      const auto bench = std::make_shared<StepBench>(*workbench_, network, kernel, batch, dtype,
                                                     selection_->check, std::move(algorithm));
      add_cells(bench, axes, selection_->caches, cells_);
    };
    if (selection_->algorithms == Algorithms::chosen) return add_bench({});
    if (!is_convolution(*network, kernel.step)) return;
    axes["algorithm"] = "chosen";
    add_bench({});
    for (const backend::Algorithm& algorithm :
         algorithms_of(**workbench_, *network, kernel.step, batch, dtype)) {
      axes["algorithm"] = algorithm.name;
      add_bench(algorithm);
    }
  }

  const std::shared_ptr<Workbench>* workbench_;
  const LayerSelection* selection_;
  std::vector<Cell> cells_;
};

}  // namespace

std::vector<Cell> layer_cells(const std::shared_ptr<Workbench>& workbench,
                              std::span<const std::shared_ptr<const Network>> networks,
                              const LayerSelection& selection,
                              const backend::Communicator& communicator) {
  Lister lister(workbench, selection);
  for (const auto& network : networks) {
    const std::vector<LayerId> layers = parse_layers(*network, selection.layers);
    for (const Kernel& kernel : distinct_kernels(*network, selection.passes, layers)) {
      lister.add(network, kernel, kernel_axes(workbench->axes(communicator), *network, kernel));
    }
  }
  std::vector<Cell> cells = std::move(lister).list();
  if (cells.empty() && selection.algorithms == Algorithms::all) {
    throw ConfigError(
        "algorithms are compared of convolutions, of which there is none among these kernels. "
        "Leave "
        "--algorithms out, or choose other --layers and --passes.");
  }
  return cells;
}

}  // namespace dlscale::bench
