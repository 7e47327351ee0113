#include "core/network/gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "core/base/error.hpp"
#include "core/config/config_file.hpp"
#include "core/config/config_path.hpp"
#include "core/text/escape_for_terminal.hpp"

namespace dlscale {
namespace {

/// The product of three such sizes still fits into 64 bits.
constexpr std::int64_t largest_gemm_size = std::int64_t{1} << 20;

std::optional<std::int64_t> parse_size(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || value < 1 || value > largest_gemm_size) return std::nullopt;
  return value;
}

/// The text up to `separator`, removed from `rest` with it; all of `rest` without a separator.
std::string_view take_part(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return part;
}

bool parse_sizes(std::string_view text, GemmShape& shape) {
  for (std::int64_t* size : {&shape.m, &shape.n, &shape.k}) {
    if (text.ends_with('x')) return false;
    const auto value = parse_size(take_part(text, 'x'));
    if (!value) return false;
    *size = *value;
  }
  return text.empty();
}

bool parse_transposes(std::string_view text, GemmShape& shape) {
  if (text.size() != 2 || text.find_first_not_of("nt") != std::string_view::npos) return false;
  shape.transpose_a = text[0] == 't';
  shape.transpose_b = text[1] == 't';
  return true;
}

bool parse_batch(std::string_view text, GemmShape& shape) {
  if (!text.starts_with('b')) return false;
  const auto value = parse_size(text.substr(1));
  shape.batch = value.value_or(1);
  return value.has_value();
}

bool parse(std::string_view text, GemmShape& shape) {
  if (text.ends_with(':') || !parse_sizes(take_part(text, ':'), shape)) return false;
  if (text.empty()) return true;
  const std::string_view next = take_part(text, ':');
  if (parse_batch(next, shape)) return text.empty();
  if (!parse_transposes(next, shape)) return false;
  return text.empty() || parse_batch(text, shape);
}

/// Other signs between the sizes, "256X256×256", "256*256*256" and "256,256,256", as ours; one
/// number alone as a cube.
std::string in_our_signs(std::string_view text) {
  constexpr std::string_view times = "×";
  std::string ours;
  while (!text.empty()) {
    const bool is_times = text.starts_with(times);
    const bool is_sign =
        is_times || std::string_view("xX*,; ").find(text.front()) != std::string_view::npos;
    if (!is_sign) ours += text.front();
    if (is_sign && !ours.empty() && !ours.ends_with('x')) ours += 'x';
    text.remove_prefix(is_times ? times.size() : 1);
    while (ours.ends_with('x') && text.starts_with(' ')) text.remove_prefix(1);
  }
  const bool is_number = ours.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? fmt::format("{0}x{0}x{0}", ours) : ours;
}

using Shapes = std::vector<GemmShape>;

ConfigMap load_list(std::string_view name) {
  ConfigMap map = ConfigMap::load(find_config("shapes", name));
  map.allow_only({"shapes", "doc", "source", "lists", "products", "convolutions"});
  (void)map.text("shapes");
  (void)map.text_or("doc", "");
  (void)map.text_or("source", "");
  if (map.has("convolutions")) {
    throw ConfigError(map.where() +
                      " holds convolutions (no matrix products). Measure them as "
                      "convolutions, or name another list.");
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

std::string kernel_key(const GemmShape& shape) {
  std::string key =
      fmt::format("gemm m{} n{} k{} ta{:d} tb{:d}", shape.m, shape.n, shape.k,
                  static_cast<int>(shape.transpose_a), static_cast<int>(shape.transpose_b));
  if (shape.batch > 1) key += fmt::format(" batch{}", shape.batch);
  return key;
}

Work work(const GemmShape& shape, DType dtype) {
  const auto size = [](std::int64_t value) { return static_cast<double>(value); };
  const double products = size(shape.batch) * size(shape.m) * size(shape.n) * size(shape.k);
  const double elements =
      size(shape.a_elements()) + size(shape.b_elements()) + size(shape.c_elements());
  return {Flops(2 * products), Bytes(static_cast<double>(element_bytes(dtype)) * elements)};
}

GemmShape parse_gemm_shape(std::string_view text, std::string_view where) {
  GemmShape shape;
  if (parse(text, shape)) return shape;
  if (const std::string ours = in_our_signs(text); parse(ours, shape)) {
    throw ConfigError(fmt::format("{} names \"{}\" (no matrix product). Write {}.", where,
                                  escape_for_terminal(text), ours));
  }
  throw ConfigError(fmt::format(
      "{} names \"{}\" (no matrix product). Write m x n x k as 64x128x256, numbers from 1 to {}; "
      "then :nn, :nt, :tn or :tt if an operand lies transposed; then :b8 for 8 products at once.",
      where, text, largest_gemm_size));
}

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
