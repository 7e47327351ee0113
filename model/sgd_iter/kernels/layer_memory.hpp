#pragma once
#include <vector>

#include "core/network/network.hpp"

namespace dlscale::model {

/// Elements of one sample that a layer adds to the memory of training, by the rules of MemoryNeed.
struct LayerElements {
  double kept = 0;    ///< of its output, from forward to backward, without scores of attention
  double scores = 0;  ///< of attention, likewise
  /// Elements of its input, if it is a loss: a training in 16 bits keeps them in f32, too.
  double loss = 0;
};

/// By layer. Without attention each output is kept, but a ReLU that alone reads its input takes
/// that one's place. With attention only those are that backward reads (kept_outputs.hpp).
std::vector<LayerElements> layer_elements(const Network& network);

/// Outputs with the copies that frameworks keep and what their allocators lose, at most, over those
/// of LayerElements. [D: as MemoryNeed]
inline constexpr double most_copies = 1.5;

/// By layer: bytes of one sample that backward reads and could compute anew only at the cost of a
/// product, with elements of that size.
std::vector<double> least_kept_bytes(const Network& network, double element);

/// By layer: bytes of one sample of the gradients that the data pass of its backward reads and
/// writes, with elements of that size; 0 where it has none. A loss in 16 bits has f32 beside.
std::vector<double> gradient_bytes(const Network& network, double element, bool fused_attention);

}  // namespace dlscale::model
