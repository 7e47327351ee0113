#pragma once
#include <functional>
#include <map>
#include <span>
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

/// The work of a layer for one image, and its parameters.
struct LayerWork {
  double macs = 0;                   ///< multiply-adds of the forward pass, ≥ 0
  double outputs = 0;                ///< elements of its output, ≥ 0
  std::vector<double> tensors = {};  ///< elements of each parameter tensor, in forward order
};

/// The gradients of layers, which are in forward order; gradients are in backward order. A layer
/// takes
///   2 · macs / 2.2e12 + 8 · outputs / 6e11 seconds
/// of a generic device: multiply-adds at the speed of f32, an output written and read at that of
/// its memory. Only the ratio of both counts. Requires layers that take time.
std::vector<GradientTensor> ready_tensors(std::span<const LayerWork> layers);

/// The layers of a network.
std::vector<LayerWork> layer_work(const Network& network);

/// own: all layers are encoders, or all are decoders. cross: half are decoders that also attend to
/// an encoder.
enum class Attention { own, cross };

/// The gradients of a transformer, before they are scaled to its number of parameters: a head, its
/// layers, all equal, and last its embeddings. Requires layers and hidden; ffn defaults to 4 ·
/// hidden.
std::vector<GradientTensor> transformer_tensors(const cases::CaseNetwork& network,
                                                Attention attention);

}  // namespace dlscale::model::scaling
