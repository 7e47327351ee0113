#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/config/config_file.hpp"
#include "core/config/config_path.hpp"
#include "core/network/file/layer_blocks.hpp"
#include "core/network/network.hpp"

namespace dlscale {
namespace {

constexpr IntegerRange input_range{1, 1 << 20};

/// A sequence of tokens.
ImageShape read_tokens(const ConfigMap& map) {
  for (const std::string_view key : {"channels", "height", "width"}) {
    if (!map.has(key)) continue;
    map.refuse(key, "beside tokens", "Write tokens for sequences, or the other three for images.");
  }
  return {1, map.integer("tokens", input_range), 1};
}

ImageShape read_input(const ConfigMap& map) {
  map.allow_only({"channels", "height", "width", "tokens"});
  if (map.has("tokens")) return read_tokens(map);
  const ImageShape shape{map.integer("channels", input_range), map.integer("height", input_range),
                         map.integer("width", input_range)};
  return shape;
}

/// The name of a network, the file that has its layers, and the numbers given to those.
struct Parts {
  std::string network;
  ConfigMap layers;
  NamedNumbers given;
};

void refuse_layers_beside_like(const ConfigMap& map) {
  for (const std::string_view key : {"input", "blocks", "layers"}) {
    if (!map.has(key)) continue;
    throw ConfigError(
        fmt::format("{} stands beside like, which takes input and layers from the other network. "
                    "Leave out one of the two.",
                    map.where(key)));
  }
}

ConfigMap load_map(const std::filesystem::path& file) {
  ConfigMap map = ConfigMap::load(file);
  map.allow_only({"network", "doc", "source", "with", "like", "input", "blocks", "layers"});
  (void)map.text_or("doc", "");
  (void)map.text_or("source", "");
  return map;
}

Parts load_parts(const std::filesystem::path& file) {
  const ConfigMap map = load_map(file);
  std::string network = map.name("network");
  if (!map.has("like")) return {std::move(network), map, {}};
  refuse_layers_beside_like(map);
  const std::filesystem::path other_file = find_config("networks", map.text("like"));
  std::error_code missing;
  if (std::filesystem::equivalent(file, other_file, missing)) {
    map.refuse("like", "this network itself", "Name another network, or write input and layers.");
  }
  ConfigMap other = load_map(other_file);
  if (other.has("like")) {
    map.refuse("like", "itself like another, without layers",
               "Name a network whose file has layers.");
  }
  return {std::move(network), other, read_given(map, other, {})};
}

/// Gives the number of tokens of a sequence.
void give_tokens(Parts& parts, int tokens) {
  if (!parts.layers.has("with") || !parts.layers.map("with").has("tokens")) {
    throw ConfigError(
        fmt::format("{} has no sequences whose length could be {} (\"tokens\" is not among the "
                    "numbers of its \"with\"). Leave the length out.",
                    parts.network, tokens));
  }
  parts.given["tokens"] = tokens;
}

}  // namespace

Network load_network(std::string_view name) {
  return load_network_for(name, 0);
}

Network load_network_for(std::string_view name, int tokens) {
  const std::filesystem::path file = find_config("networks", name);
  Parts parts = load_parts(file);
  if (tokens > 0) give_tokens(parts, tokens);
  const NamedNumbers numbers = read_numbers(parts.layers, {}, parts.given);
  parts.layers.set_numbers(std::make_shared<const NamedNumbers>(numbers));
  const ImageShape input = read_input(parts.layers.map("input"));
  const std::vector<Network::Node> nodes = read_layers(parts.layers, numbers);
  try {
    return Network(parts.network, input, nodes);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", file.string(), error.what()));
  }
}

}  // namespace dlscale
