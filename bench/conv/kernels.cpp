#include "bench/conv/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"
#include "core/text/suggest.hpp"

namespace dlscale::bench {
namespace {

constexpr std::array all_passes{Pass::forward, Pass::backward_data, Pass::backward_filter,
                                Pass::accumulate};

template <class T, class Range>
bool holds(const Range& range, const T& value) {
  return std::find(range.begin(), range.end(), value) != range.end();
}

Pass parse_pass(const std::string& name) {
  std::vector<std::string> names{"all"};
  for (const Pass pass : all_passes) {
    if (pass_name(pass) == name) return pass;
    names.emplace_back(pass_name(pass));
  }
  throw ConfigError(fmt::format("{} names {} (not a pass). {}", option_name("passes"), name,
                                suggestion(name, names)));
}

std::vector<Step> all_steps(const Network& network) {
  std::vector<Step> steps = forward_steps(network);
  const std::vector<Step> backward = backward_steps(network);
  steps.insert(steps.end(), backward.begin(), backward.end());
  return steps;
}

/// The layers that a name selects: the layer with that name, else all layers of that kind.
std::set<std::string> layers_called(const Network& network, const std::string& name) {
  std::vector<std::string> known;
  std::set<std::string> of_kind;
  for (const Layer& layer : network.layers()) {
    if (layer.name == name) return {name};
    const std::string_view kind = kind_name(layer.kind);
    if (kind == name) of_kind.insert(layer.name);
    known.push_back(layer.name);
    if (!holds(known, kind)) known.emplace_back(kind);
  }
  if (!of_kind.empty()) return of_kind;
  throw ConfigError(
      fmt::format("{} names {} (network {} has no such layer, and none of such a kind). {}",
                  option_name("layers"), name, network.name(), suggestion(name, known)));
}

}  // namespace

std::vector<Kernel> distinct_kernels(const Network& network, std::span<const Pass> passes,
                                     std::span<const LayerId> layers) {
  std::vector<Kernel> kernels;
  std::vector<bool> wanted;
  std::map<std::pair<std::string, Pass>, std::size_t> places;
  for (const Step& step : all_steps(network)) {
    const std::string key = kernel_key(network, step.layer);
    const auto [place, is_new] = places.try_emplace({key, step.pass}, kernels.size());
    if (is_new) {
      kernels.push_back({step, key});
      wanted.push_back(false);
    }
    // Backward runs the last layer first; a kernel is named after the network's first layer with
    // it.
    Kernel& kernel = kernels[place->second];
    kernel.step.layer = std::min(kernel.step.layer, step.layer);
    if (holds(passes, step.pass) && holds(layers, step.layer)) wanted[place->second] = true;
  }
  std::vector<Kernel> result;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (wanted[i]) result.push_back(std::move(kernels[i]));
  }
  return result;
}

bool means_all(std::string_view axis, const std::vector<std::string>& names) {
  if (std::ranges::find(names, "all") == names.end()) return false;
  if (names.size() == 1) return true;
  throw ConfigError(fmt::format(
      "{} names others beside \"all\", which has them already: \"all\" stands alone. Leave it out, "
      "or leave out the others.",
      option_name(axis)));
}

std::vector<Pass> parse_passes(const std::vector<std::string>& names) {
  if (means_all("passes", names)) return {all_passes.begin(), all_passes.end()};
  std::vector<Pass> passes;
  passes.reserve(names.size());
  for (const std::string& name : names) passes.push_back(parse_pass(name));
  return passes;
}

std::vector<LayerId> parse_layers(const Network& network, const std::vector<std::string>& names) {
  std::vector<LayerId> ids;
  const bool all = means_all("layers", names);
  std::set<std::string> wanted;
  for (const std::string& name : names) {
    if (!all) wanted.merge(layers_called(network, name));
  }
  for (const Layer& layer : network.layers()) {
    if (all || wanted.contains(layer.name)) ids.push_back(layer.id);
  }
  return ids;
}

}  // namespace dlscale::bench
