#pragma once
#include <string_view>

#include "core/network/network.hpp"
#include "core/run/run.hpp"

namespace dlscale {

/// The same network with fewer layers, for the engine that runs it and the model that predicts it.
/// A ReLU becomes part of its producer (Layer::relu) if it is the only reader of a convolution, a
/// batch norm or a sum. Readers of the ReLU then read that layer, which keeps its name. Other ReLUs
/// stay, for example those after fully connected layers, whose outputs are small compared with
/// their weights. Fusing a fused network changes nothing.
Network fuse_relu(const Network& network);

/// The network that the run executes: fused if Run::fuse_relu is set.
Network as_run(const Network& network, const Run& run);

/// "relu" or "none", as in results and on the command line.
std::string_view fusion_name(const Run& run);
/// Parses a value of Run::fuse_relu. Throws ConfigError.
bool parse_fusion(std::string_view name);

}  // namespace dlscale
