#pragma once
#include <optional>
#include <span>
#include <vector>

#include "core/base/units.hpp"

namespace dlscale::parallel {

/// A layer as the choice of stages sees it; all ≥ 0.
struct StageLayer {
  Seconds time;          ///< forward and backward of a micro-batch
  Bytes states;          ///< parameters, gradients and the optimiser's numbers
  Bytes activations;     ///< kept of a micro-batch until its backward
  Seconds message = {};  ///< both ways, if a stage ends behind the layer
};

/// Memory of the stages.
struct StageMemory {
  Bytes limit;            ///< of each rank
  std::vector<int> live;  ///< by stage: micro-batches whose activations it holds, ≥ 1
};

/// Cuts a network into `stages` ≥ 1 runs of layers, one or more each, and returns their numbers of
/// layers. The slowest stage is as fast as possible, which (7.6) of the pipeline's closed forms
/// asks for with many micro-batches; among such cuts, messages take the least time. Each stage fits
/// its memory: Σ states + live · Σ activations ≤ limit. Absent if no cut fits, or there are fewer
/// layers than stages.
///
/// Dynamic programming over the first layers and stages, exact (tested against all cuts of small
/// networks). O(layers² · stages) at worst, and O(layers²) if stages are about equally long.
/// [PipeDream, arXiv:1806.03377, partitions so, over devices that may also share a stage]
std::optional<std::vector<int>> cut_into_stages(std::span<const StageLayer> layers, int stages,
                                                const std::optional<StageMemory>& memory = {});

}  // namespace dlscale::parallel
