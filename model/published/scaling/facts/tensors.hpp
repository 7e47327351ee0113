#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/network/network.hpp"
#include "model/published/cases/scaling_case.hpp"

namespace dlscale::model::scaling {

/// The gradient of one parameter tensor.
struct GradientTensor {
  double elements = 0;  ///< > 0
  double ready = 1;     ///< ρ in (0, 1]: share of the backward pass that has run when it is ready
};

/// How much is known of a network's gradients: its layers, that it is a transformer of so many
/// layers, or their number only.
enum class TensorSource { layers, transformer, ramp };

struct TensorProfile {
  TensorSource source = TensorSource::ramp;
  std::vector<GradientTensor> tensors = {};  ///< in backward order, ρ ascending
};

/// Networks whose layers are known, by the names of their files in configs/networks.
using KnownNetworks = std::map<std::string, Network, std::less<>>;

/// The gradients of a network in backward order, scaled so that their elements add up to its
/// parameters. Layer times are those of a generic device (multiply-adds and activations at fixed
/// rates), so that the profile depends on the network only. Layers are those of `known`, or
/// generated for families of networks (ResNet, DenseNet, …); where neither has them, or theirs have
/// by far not as many parameters as the network, the profile is a ramp.
TensorProfile gradient_tensors(const cases::CaseNetwork& network, const KnownNetworks& known);

}  // namespace dlscale::model::scaling
