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

/// By which of the ways that a device knows to run a kernel.
enum class Algorithms {
  chosen,  ///< the one that training uses
  all      ///< that, then every way the device can name, apart
};

/// Which kernels of a network to measure, and how.
struct LayerSelection {
  std::vector<int> batches;
  std::vector<DType> dtypes;
  std::vector<Pass> passes;
  std::vector<std::string> layers;  ///< as parse_layers() has them
  std::vector<CacheState> caches;
  Check check = Check::reference;
  Algorithms algorithms = Algorithms::chosen;
  std::vector<ValueKind> values = {ValueKind::normal};
  /// Of activations; nothing stands for the device's choice, as training has it.
  std::vector<std::optional<backend::LayoutKind>> layouts = {std::nullopt};
};

using Axes = std::map<std::string, std::string>;

/// Every layout, each with its axes beside the others: "layout" of those that are named.
std::vector<std::pair<std::optional<backend::LayoutKind>, Axes>> in_all_layouts(
    const LayerSelection& selection, Axes axes);

/// Every combination of the states of the caches and the kinds of values, each with its axes beside
/// the others.
std::vector<std::pair<Conditions, Axes>> in_all_conditions(const LayerSelection& selection,
                                                           Axes axes);

/// One cell for each distinct kernel of the networks (of the first that runs it), batch, precision,
/// layout and state of the caches; with Algorithms::all of those only that the device knows
/// algorithms for (or says that it cannot run), convolutions first, one for each algorithm, named
/// by the axis "algorithm" ("chosen" for training's own). Throws ConfigError if there is no such
/// kernel then.
std::vector<Cell> layer_cells(const std::shared_ptr<Workbench>& workbench,
                              std::span<const std::shared_ptr<const Network>> networks,
                              const LayerSelection& selection,
                              const backend::Communicator& communicator);

}  // namespace dlscale::bench
