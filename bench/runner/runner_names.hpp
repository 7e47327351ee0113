#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {

/// A cell and its name, to which the filter applies.
struct NamedCell {
  std::string name;
  Cell cell;
};

/// Names for the filter, for example "conv/resnet50/res2a_branch2b/forward/batch:8". They begin
/// with the benchmark, then network, layer, pass, operation and collective without axis names.
/// Batch, bytes, kernel, layout, and all other axes in which cells differ follow as axis:value.
/// "kernel" is omitted if there is a "layer". Throws ConfigError if two cells are the same.
std::vector<NamedCell> name_cells(std::string_view benchmark, std::vector<Cell> cells);

/// The axes that are equal in all cells and thus not in the names: "cache cold, dtype f32".
std::string same_in_all(const std::vector<Cell>& cells);

}  // namespace dlscale::bench
