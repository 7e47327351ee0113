#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/conv/step_bench.hpp"

namespace dlscale::bench {

/// Which kernels of a network to measure, and how.
struct LayerSelection {
  std::vector<int> batches;
  std::vector<DType> dtypes;
  std::vector<Pass> passes;
  std::vector<std::string> layers;  ///< names, or "all"
  std::vector<CacheState> caches;
  Check check = Check::reference;
};

/// One cell for each distinct kernel of the networks, batch, precision and state of the caches.
std::vector<Cell> layer_cells(const std::shared_ptr<Workbench>& workbench,
                              std::span<const std::shared_ptr<const Network>> networks,
                              const LayerSelection& selection,
                              const backend::Communicator& communicator);

}  // namespace dlscale::bench
