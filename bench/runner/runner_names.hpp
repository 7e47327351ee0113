#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {

/// A cell and the name that the filter matches.
struct NamedCell {
  std::string name;
  Cell cell;
};

/// Names for the filter, such as "conv/resnet50/res2a_branch2b/forward/batch:8": the benchmark;
/// network, layer, pass, operation and collective bare; batch, bytes, kernel and layout, and every
/// other axis in which the cells differ, as axis:value. "kernel" is left out where "layer" stands
/// for it. Throws ConfigError if two cells are the same.
std::vector<NamedCell> name_cells(std::string_view benchmark, std::vector<Cell> cells);

/// "cache cold, dtype f32": the axes that are the same in all cells and hence in no name.
std::string same_in_all(const std::vector<Cell>& cells);

}  // namespace dlscale::bench
