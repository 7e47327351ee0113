#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/base/units.hpp"

namespace dlscale::parallel {

/// A layer as the choice of stages sees it; all ≥ 0.
struct StageLayer {
  Seconds time;          ///< forward and backward of a micro-batch
  Seconds message = {};  ///< both ways, if a stage ends behind the layer
};

/// A property of layers [first, end) as stage number `stage`, from 0.
using StageTest = std::function<bool(std::size_t stage, std::size_t first, std::size_t end)>;

/// Tests of a stage by its memory.
struct StageMemory {
  StageTest fits;         ///< the layers fit
  StageTest is_too_long;  ///< neither they fit nor do any that begin earlier; may be never true
};

/// Cuts a network into `stages` ≥ 1 runs of layers, one or more each, and returns their numbers of
/// layers. The slowest stage is as fast as possible, which (7.6) of the pipeline's closed forms
/// asks for with many micro-batches; among such cuts, messages take the least time. Each stage fits
/// its memory. Absent if no cut fits, or there are fewer layers than stages.
///
/// Dynamic programming over the first layers and stages, exact (tested against all cuts of small
/// networks). O(layers² · stages) at worst, and O(layers²) if stages are about equally long.
/// [PipeDream, arXiv:1806.03377, partitions so, over devices that may also share a stage]
std::optional<std::vector<int>> cut_into_stages(std::span<const StageLayer> layers, int stages,
                                                const std::optional<StageMemory>& memory = {});

/// For each of `slacks` ≥ 1, the cut with the least messages whose slowest stage takes at most that
/// many times as long as in cut_into_stages(). Empty where that is absent.
std::vector<std::vector<int>> cuts_with_slack(std::span<const StageLayer> layers, int stages,
                                              std::span<const double> slacks,
                                              const std::optional<StageMemory>& memory = {});

}  // namespace dlscale::parallel
