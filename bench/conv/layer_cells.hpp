#pragma once
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/conv/step_bench.hpp"

namespace dlscale::bench {

/// Selection of the device's algorithms for a kernel.
enum class Algorithms {
  chosen,  ///< training's choice
  all      ///< training's choice, then every algorithm that the device can name
};

/// The kernels of a network to measure, and their conditions.
struct LayerSelection {
  std::vector<int> batches;
  std::vector<DType> dtypes;
  std::vector<Pass> passes;
  std::vector<std::string> layers;  ///< as parse_layers() takes them
  std::vector<CacheState> caches;
  Check check = Check::reference;
  Algorithms algorithms = Algorithms::chosen;
  std::vector<ValueKind> values = {ValueKind::normal};
  /// Layouts of activations; an empty one is the device's choice, as in training.
  std::vector<std::optional<backend::LayoutKind>> layouts = {std::nullopt};
};

using Axes = std::map<std::string, std::string>;

/// Every layout with its axes; "layout" is set for explicit layouts.
std::vector<std::pair<std::optional<backend::LayoutKind>, Axes>> in_all_layouts(
    const LayerSelection& selection, Axes axes);

/// Every combination of cache states and kinds of values, with its axes.
std::vector<std::pair<Conditions, Axes>> in_all_conditions(const LayerSelection& selection,
                                                           Axes axes);

/// One cell for each distinct kernel (by its first layer), batch, precision, layout and cache
/// state. Algorithms::all keeps only kernels for which the device has algorithms (or reports that
/// it cannot run them), convolutions first. It makes one cell per algorithm, named by the axis
/// "algorithm" ("chosen" for training's own). Throws ConfigError if no kernel remains.
std::vector<Cell> layer_cells(const std::shared_ptr<Workbench>& workbench,
                              std::span<const std::shared_ptr<const Network>> networks,
                              const LayerSelection& selection,
                              const backend::Communicator& communicator);

}  // namespace dlscale::bench
