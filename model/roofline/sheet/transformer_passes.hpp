#pragma once
#include "model/roofline/sheet/layer_passes.hpp"
#include "model/roofline/sheet/transformer_parts.hpp"

namespace dlscale::model::sheet {

/// As passes_of_layer(), for networks with attention. Passes over n elements of the output, forward
/// and backward, with kernels in brackets, by what software makes of its operators:
///                            primitive        kernels       all            epilogue
///   norm, with the sum and dropout before it
///                            9, 16 [12, 24]   5, 8 [3, 6]   2.5, 4 [1, 2]  2.5, 4 [1, 2]
///   activation, with the bias before it
///                            12, 20 [9, 16]   4, 5 [2, 3]   2, 3 [1, 2]    1, 2 [0, 1]
///   scores: scale, mask, softmax, dropout
///                            11, 13           8, 9          4, 5           4, 5
///   copies of queries, keys, values and outputs, of h elements each
///                            8 h, 8 h         8 h, 8 h      4 h, 6 h       h, 2 h
///   kernels of attention     [22, 36]         [14, 21]      [7, 12]        [6, 9]
/// Copies and kernels of attention count with the softmax, those of a memory with it. Fused
/// attention keeps scores out of memory, with 2 and 3 kernels less. Attention to another sequence
/// takes half of the copies and [15.5, 26], [8, 12], [4, 7], [3, 5] kernels. A gate adds n and n to
/// an activation. Rotations take 2 n and 2 n [1, 1], or are part of the copies where these are
/// fused. An embedding with its norm takes 8 n and 8 n [6, 8]. What decodes words takes 6 n and 8 n
/// [4, 6] before the last product, and a cross-entropy 4 i and 3 i [3, 2]. Biases of linear layers
/// and sums are part of these; all other layers are as in passes_of_layer(). [counts of operators'
/// operands: derived; which software does what: configs/frameworks] Wrong where kernels are fused
/// in other ways.
LayerPasses passes_of_transformer(const Network& network, const TransformerParts& parts,
                                  const Layer& layer, double batch, const ComputeTraits& way);

}  // namespace dlscale::model::sheet
