#pragma once
#include <vector>

#include "core/cases/scaling_case.hpp"

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

/// The gradients of a network in backward order, scaled so that their elements add up to its
/// parameters. Layer times are those of a generic device (multiply-adds and activations at fixed
/// rates), so that the profile depends on the network only.
TensorProfile gradient_tensors(const cases::CaseNetwork& network);

}  // namespace dlscale::model::scaling
