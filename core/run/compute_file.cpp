#include "core/run/compute_file.hpp"

#include <string>

#include "core/text/words.hpp"

namespace dlscale {
namespace {

constexpr NumberRange years{2000, 2100};

constexpr Words<NetworkFamily, 2> families{
    {{NetworkFamily::images, "images"}, {NetworkFamily::sequences, "sequences"}}};
constexpr Words<ElementWidth, 2> widths{
    {{ElementWidth::four_bytes, "four_bytes"}, {ElementWidth::two_bytes, "two_bytes"}}};

NetworkFamily parse_family(std::string_view name) {
  return value_of("kind of network", name, families);
}

ElementWidth parse_width(std::string_view name) {
  return value_of("width of elements", name, widths);
}

ImageLayout parse_layout(std::string_view name) {
  return parse_word("layout", name, all_image_layouts, image_layout_name);
}

Elementwise parse_elementwise(std::string_view name) {
  return parse_word("kind of fusion", name, all_elementwise, elementwise_name);
}

UpdateKernels parse_update(std::string_view name) {
  return parse_word("kind of update", name, all_update_kernels, update_kernels_name);
}

/// The value of a word; nothing where the file says `absent`.
template <class Enum>
std::optional<Enum> read_unless(std::string_view absent, const ConfigMap& map, std::string_view key,
                                Enum (*parse)(std::string_view)) {
  if (map.text(key) == absent) return std::nullopt;
  return read_word(map, key, parse);
}

ComputeRow read_row(const ConfigMap& map) {
  map.allow_only({"networks", "width", "layout", "elementwise", "update", "libraries"});
  ComputeRow row;
  row.networks = read_unless("any", map, "networks", parse_family);
  row.width = read_unless("any", map, "width", parse_width);
  row.traits.layout = read_unless("unknown", map, "layout", parse_layout);
  row.traits.elementwise = read_unless("unknown", map, "elementwise", parse_elementwise);
  row.traits.update = read_unless("unknown", map, "update", parse_update);
  if (map.text("libraries") != "unknown") row.traits.libraries = map.number("libraries", years);
  return row;
}

}  // namespace

std::vector<ComputeRow> read_compute(const ConfigMap& map) {
  std::vector<ComputeRow> rows;
  if (!map.has("compute")) return rows;
  for (const ConfigMap& row : map.maps("compute")) rows.push_back(read_row(row));
  return rows;
}

}  // namespace dlscale
