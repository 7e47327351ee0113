#include <algorithm>
#include <filesystem>

#include "core/base/error.hpp"
#include "core/config/config_file.hpp"
#include "core/config/config_path.hpp"
#include "core/network/gemm.hpp"

namespace dlscale {
namespace {

using Shapes = std::vector<GemmShape>;

ConfigMap load_list(std::string_view name) {
  ConfigMap map = ConfigMap::load(find_config("shapes", name));
  map.allow_only({"shapes", "doc", "source", "lists", "products", "convolutions"});
  (void)map.text("shapes");
  (void)map.text_or("doc", "");
  (void)map.text_or("source", "");
  if (map.has("convolutions")) {
    throw ConfigError(map.where() +
                      " holds convolutions (no matrix products). Measure them by "
                      "bench conv --list, or name another list.");
  }
  return map;
}

/// Adds each shape once: published lists repeat some, and both would be the same measurement.
void add_products(const ConfigMap& map, Shapes& shapes) {
  for (const std::string& text : map.texts("products")) {
    const GemmShape shape = parse_gemm_shape(text, map.where("products"));
    if (std::ranges::find(shapes, shape) == shapes.end()) shapes.push_back(shape);
  }
}

}  // namespace

std::vector<GemmShape> load_gemm_shapes(std::string_view name) {
  const ConfigMap map = load_list(name);
  Shapes shapes;
  if (!map.has("lists")) {
    add_products(map, shapes);
  } else if (map.has("products")) {
    map.refuse("lists", "beside products of its own", "Leave one of the two out.");
  } else {
    for (const std::string& list : map.texts("lists")) add_products(load_list(list), shapes);
  }
  if (shapes.empty()) {
    map.refuse(map.has("lists") ? "lists" : "products", "no product", "Name at least one.");
  }
  return shapes;
}

}  // namespace dlscale
