#pragma once
#include <vector>

#include "model/published/cases/scaling_case.hpp"
#include "model/published/scaling/facts/tensors.hpp"

namespace dlscale::model::scaling {

/// Whether layers of a transformer are those of encoders (or of decoders) alone, or half of them of
/// decoders that attend to an encoder as well.
enum class Attention { own, cross };

/// The gradients of a transformer, before they are scaled to its number of parameters: a head, as
/// many equal layers as it has, and its embeddings, which are there last of all. Requires layers
/// and hidden; without ffn, that is 4 · hidden.
std::vector<GradientTensor> transformer_tensors(const cases::CaseNetwork& network,
                                                Attention attention);

}  // namespace dlscale::model::scaling
