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

/// The distinct kernels of a training iteration, in the order in which they first run. A kernel is
/// in if its pass is among `passes` and one of the layers that run it is among `layers`.
std::vector<Kernel> distinct_kernels(const Network& network, std::span<const Pass> passes,
                                     std::span<const LayerId> layers);

/// Whether the names of an option are "all". Throws ConfigError where that stands beside others.
bool means_all(std::string_view option, const std::vector<std::string>& names);

/// "all", or names of passes. Throws ConfigError.
std::vector<Pass> parse_passes(const std::vector<std::string>& names);

/// "all", or names of layers, or of kinds, for all layers of them. Throws ConfigError naming
/// network and name.
std::vector<LayerId> parse_layers(const Network& network, const std::vector<std::string>& names);

}  // namespace dlscale::bench
