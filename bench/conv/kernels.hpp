#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/network/network.hpp"
#include "core/network/step.hpp"

namespace dlscale::bench {

/// A kernel of a network: the first step that runs it.
struct Kernel {
  Step step;
  std::string key;  ///< kernel_key()
};

/// The distinct kernels of a training iteration, in the order of their first run. A kernel is
/// included if its pass is among `passes` and one of its layers is among `layers`.
std::vector<Kernel> distinct_kernels(const Network& network, std::span<const Pass> passes,
                                     std::span<const LayerId> layers);

/// Whether the items of an axis are "all". Throws ConfigError if "all" is combined with other
/// names.
bool means_all(std::string_view axis, const std::vector<std::string>& names);

/// Parses "all" or names of passes. Throws ConfigError.
std::vector<Pass> parse_passes(const std::vector<std::string>& names);

/// Parses "all", names of layers, or kinds of layers, which select all layers of that kind. Throws
/// ConfigError naming network and name.
std::vector<LayerId> parse_layers(const Network& network, const std::vector<std::string>& names);

}  // namespace dlscale::bench
