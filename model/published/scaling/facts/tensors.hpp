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

/// The source of a network's gradients: its layers, the number of layers of a transformer, or only
/// the number of tensors.
enum class TensorSource { layers, transformer, ramp };

struct TensorProfile {
  TensorSource source = TensorSource::ramp;
  std::vector<GradientTensor> tensors = {};  ///< in backward order, ρ ascending
};

/// Networks with known layers, by the names of their files in configs/networks.
using KnownNetworks = std::map<std::string, Network, std::less<>>;

/// The gradients of a network in backward order, scaled so that their elements add up to its
/// parameters. Layer times are those of a generic device (multiply-adds and activations at fixed
/// rates), so that the profile depends on the network only. Layers come from `known`, or are
/// generated for families of networks (ResNet, DenseNet, …). Otherwise, or if they have far fewer
/// or more parameters than the network, the profile is a ramp.
TensorProfile gradient_tensors(const cases::CaseNetwork& network, const KnownNetworks& known);

}  // namespace dlscale::model::scaling
