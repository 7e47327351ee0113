#pragma once
#include <vector>

#include "model/published/cases/scaling_case.hpp"
#include "model/published/scaling/facts/tensors.hpp"

namespace dlscale::model::scaling {

/// own: all layers are encoders, or all are decoders. cross: half are decoders that also attend to
/// an encoder.
enum class Attention { own, cross };

/// The gradients of a transformer, before they are scaled to its number of parameters: a head, its
/// layers, all equal, and last its embeddings. Requires layers and hidden; ffn defaults to 4 ·
/// hidden.
std::vector<GradientTensor> transformer_tensors(const cases::CaseNetwork& network,
                                                Attention attention);

}  // namespace dlscale::model::scaling
