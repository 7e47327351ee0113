#pragma once
#include <string_view>

#include "core/network/network.hpp"
#include "core/run/run.hpp"

namespace dlscale {

/// The same network with fewer layers, for the engine that runs it and the model that predicts it:
/// a ReLU that is the only reader of a convolution, a batch norm or a sum becomes part of it
/// (Layer::relu), and what read the ReLU reads that layer, which keeps its name. Other ReLUs stay,
/// among them those after fully connected layers, whose outputs are small beside their weights.
/// A fused network is its own fused network.
Network fuse_relu(const Network& network);

/// The network as the run runs it: fused where Run::fuse_relu says so.
Network as_run(const Network& network, const Run& run);

/// "relu" or "none", as in results and on the command line.
std::string_view fusion_name(const Run& run);
/// For Run::fuse_relu. Throws ConfigError.
bool parse_fusion(std::string_view name);

}  // namespace dlscale
