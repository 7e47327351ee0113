#include "bench/conv/layer_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "backend/compute/specification.hpp"
#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

Axes kernel_axes(Axes axes, const Network& network, const Kernel& kernel) {
  axes["network"] = network.name();
  axes["layer"] = network.layer(kernel.step.layer).name;
  axes["kernel"] = kernel.key;
  axes["pass"] = pass_name(kernel.step.pass);
  return axes;
}

/// Adds cells for all cache states and kinds of values, which share one check.
void add_cells(const std::shared_ptr<StepBench>& bench, const Axes& axes,
               const LayerSelection& selection, std::vector<Cell>& cells) {
  for (const auto& [conditions, with_conditions] : in_all_conditions(selection, axes)) {
    cells.push_back({with_conditions, [bench, under = conditions](const Sampler& sampler) {
                       return bench->measure(sampler, under);
                     }});
  }
}

bool is_convolution(const Network& network, const Kernel& kernel) {
  return kernel.step.pass != Pass::accumulate &&
         std::holds_alternative<Convolution>(network.layer(kernel.step.layer).kind);
}

/// The device's algorithms for a kernel, for comparison with its choice. Nothing if it has none to
/// choose from; an empty list if it cannot run the network.
std::optional<std::vector<backend::Algorithm>> algorithms_of(
    Workbench& workbench, const Network& network, Step step, int batch, DType dtype,
    std::optional<backend::LayoutKind> layout) {
  if (step.pass == Pass::accumulate) return std::nullopt;
  try {
    const train::ProgramPlan& plan = workbench.plan(network, batch, dtype);
    const backend::OperationSpec& trained = plan.specs[step.layer.index()];
    auto found = workbench.device().algorithms(
        layout ? backend::laid_out(workbench.device(), trained, *layout) : trained, step.pass);
    if (found.empty()) return std::nullopt;
    return found;
  } catch (const Unsupported&) {
    return std::vector<backend::Algorithm>{};
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
        for (auto& [layout, with_layout] : in_all_layouts(*selection_, axes)) {
          add(network, kernel, std::move(with_layout), {batch, dtype, layout});
        }
      }
    }
  }

  [[nodiscard]] std::vector<Cell> list() && { return std::move(cells_); }

 private:
  /// Batch and precision of a measurement.
  struct Size {
    int batch;
    DType dtype;
    std::optional<backend::LayoutKind> layout;
  };

  void add(const std::shared_ptr<const Network>& network, const Kernel& kernel, Axes axes,
           const Size& size) {
    const auto [batch, dtype, layout] = size;
    const auto add_bench = [&](std::optional<backend::Algorithm> algorithm) {
      const auto bench = std::make_shared<StepBench>(
          *workbench_, network, kernel, size.batch, size.dtype, selection_->check,
          Variant{.algorithm = std::move(algorithm), .layout = size.layout});
      add_cells(bench, axes, *selection_, cells_);
    };
    if (selection_->algorithms == Algorithms::chosen) return add_bench({});
    const auto algorithms =
        algorithms_of(**workbench_, *network, kernel.step, batch, dtype, layout);
    // A backend without a choice is still a comparison for other backends' convolutions.
    if (!algorithms && !is_convolution(*network, kernel)) return;
    axes["algorithm"] = "chosen";
    add_bench({});
    if (!algorithms) return;
    for (const backend::Algorithm& algorithm : *algorithms) {
      axes["algorithm"] = algorithm.name;
      add_bench(algorithm);
    }
  }

  const std::shared_ptr<Workbench>* workbench_;
  const LayerSelection* selection_;
  std::vector<Cell> cells_;
};

/// The selected kernels. With Algorithms::all convolutions come first: they have most algorithms
/// and most of an iteration's time, so an interrupted comparison should include them.
std::vector<Kernel> selected_kernels(const Network& network, const LayerSelection& selection) {
  std::vector<Kernel> kernels =
      distinct_kernels(network, selection.passes, parse_layers(network, selection.layers));
  if (selection.algorithms == Algorithms::all) {
    std::stable_partition(kernels.begin(), kernels.end(),
                          [&](const Kernel& kernel) { return is_convolution(network, kernel); });
  }
  return kernels;
}

}  // namespace

std::vector<std::pair<std::optional<backend::LayoutKind>, Axes>> in_all_layouts(
    const LayerSelection& selection, Axes axes) {
  std::vector<std::pair<std::optional<backend::LayoutKind>, Axes>> all;
  for (const std::optional<backend::LayoutKind>& layout : selection.layouts) {
    axes.erase("layout");
    if (layout) axes["layout"] = backend::layout_kind_name(*layout);
    all.emplace_back(layout, axes);
  }
  return all;
}

std::vector<std::pair<Conditions, Axes>> in_all_conditions(const LayerSelection& selection,
                                                           Axes axes) {
  std::vector<std::pair<Conditions, Axes>> all;
  for (const CacheState cache : selection.caches) {
    axes["cache"] = cache_state_name(cache);
    for (const ValueKind values : selection.values) {
      axes["values"] = value_kind_name(values);
      all.push_back({{cache, values}, axes});
    }
  }
  return all;
}

std::vector<Cell> layer_cells(const std::shared_ptr<Workbench>& workbench,
                              std::span<const std::shared_ptr<const Network>> networks,
                              const LayerSelection& selection,
                              const backend::Communicator& communicator) {
  Lister lister(workbench, selection);
  std::set<std::pair<std::string, Pass>> listed;
  for (const auto& network : networks) {
    for (const Kernel& kernel : selected_kernels(*network, selection)) {
      if (!listed.emplace(kernel.key, kernel.step.pass).second) continue;
      lister.add(network, kernel, kernel_axes(workbench->axes(communicator), *network, kernel));
    }
  }
  std::vector<Cell> cells = std::move(lister).list();
  if (cells.empty() && selection.algorithms == Algorithms::all) {
    throw ConfigError(fmt::format(
        "none of these kernels has algorithms that the backend can name, so that there is nothing "
        "to compare. Leave {} out, or choose other layers and passes.",
        option_name("algorithms")));
  }
  return cells;
}

}  // namespace dlscale::bench
