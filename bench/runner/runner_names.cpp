#include "bench/runner/runner_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

constexpr std::array<std::string_view, 5> bare{"network", "layer", "pass", "operation",
                                               "collective"};

template <class Names>
bool holds(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Axes that appear in names with their axis name. A layout or an instruction set does even with a
/// single value, as other cells have none.
std::set<std::string> labelled_axes(const std::vector<Cell>& cells) {
  std::map<std::string, std::set<std::string>> values;
  for (const Cell& cell : cells) {
    for (const auto& [axis, value] : cell.axes) values[axis].insert(value);
  }
  std::set<std::string> labelled;
  for (const auto& [axis, distinct] : values) {
    const bool told_by_layer = axis == "kernel" && values.contains("layer");
    const bool always =
        axis == "batch" || axis == "bytes" || axis == "isa" || axis == "kernel" || axis == "layout";
    if (!holds(bare, axis) && !told_by_layer && (always || distinct.size() > 1)) {
      labelled.insert(axis);
    }
  }
  return labelled;
}

std::string name_of(std::string_view benchmark, const Cell& cell,
                    const std::set<std::string>& labelled) {
  std::string name(benchmark);
  for (const std::string_view axis : bare) {
    const auto found = cell.axes.find(std::string(axis));
    if (found != cell.axes.end()) name += "/" + found->second;
  }
  for (const auto& [axis, value] : cell.axes) {
    if (labelled.contains(axis)) name.append("/").append(axis).append(":").append(value);
  }
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

}  // namespace

std::vector<NamedCell> name_cells(std::string_view benchmark, std::vector<Cell> cells) {
  const std::set<std::string> labelled = labelled_axes(cells);
  std::set<std::string> seen;
  std::vector<NamedCell> named;
  for (Cell& cell : cells) {
    std::string name = name_of(benchmark, cell, labelled);
    if (!seen.insert(name).second) {
      throw ConfigError(
          fmt::format("two cells of bench {} are both {}. Name each value of an axis "
                      "once.",
                      benchmark, name));
    }
    named.push_back({std::move(name), std::move(cell)});
  }
  return named;
}

std::string same_in_all(const std::vector<Cell>& cells) {
  if (cells.empty()) return {};
  const std::set<std::string> labelled = labelled_axes(cells);
  std::string text;
  for (const auto& [axis, value] : cells.front().axes) {
    const bool same =
        std::ranges::all_of(cells, [&, &axis = axis, &value = value](const Cell& cell) {
          const auto found = cell.axes.find(axis);
          return found != cell.axes.end() && found->second == value;
        });
    if (!same || labelled.contains(axis) || holds(bare, axis)) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", axis, value);
  }
  return text;
}

}  // namespace dlscale::bench
