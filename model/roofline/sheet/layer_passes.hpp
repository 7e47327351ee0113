#pragma once
#include "core/network/network.hpp"
#include "core/run/compute_traits.hpp"

namespace dlscale::model::sheet {

/// Work of kernels that only move elements between memory and registers.
struct MemoryPasses {
  double elements = 0;  ///< read and written
  double kernels = 0;
  MemoryPasses& operator+=(const MemoryPasses& other) {
    elements += other.elements;
    kernels += other.kernels;
    return *this;
  }
  bool operator==(const MemoryPasses&) const = default;
};

/// Passes of a layer in both directions.
struct LayerPasses {
  MemoryPasses forward;
  MemoryPasses backward;
  bool operator==(const LayerPasses&) const = default;
};

/// Elements that the kernels of a layer move beside its products, in passes over its output of n
/// elements (i: of its input), for networks without attention:
///                                forward   backward   kernels
///   bias                         2 n       n          1, 1
///   batch norm                   3 n       5 n        2, 1
///     frozen                     2 n       16 n       1, 10   (its gradient, term by term)
///   layer and RMS norm           2 n       4 n        1, 2
///   ReLU, activation             2 n       3 n        1, 1
///     ReLU, fused                0         n          0, 0    (its sign is read once more)
///   sum, scale                   3 n       3 n        1, 1
///     fused                      n         2 n        0, 1
///   gated unit                   3 n       5 n        1, 1
///   concatenation, dropout, rotation, tokens, embedding, softmax of a route   2 n   2 n   1, 1
///   positions                    n         n          1, 1
///   scores of places             6 n       6 n        6, 9    (biases, shift, sum with others)
///   memory                       3 n       6 i        2, 3
///   pooling                      i + n     i + 2 n    1, 1
///   first token                  2 n       i + n      1, 1
///   local response               3 n       5 n        1, 1
///   cross-entropy of images      3 i       2 i        1, 1    (i: its scores)
///     of tokens                  4 i       3 i        3, 2
/// Where batch norm applies what follows (norm_act, all), ReLUs after batch norms and sums are
/// fused, and sums and scales; where element-wise chains are joined, ReLUs after sums are.
/// Accumulating the gradients of several consumers is not counted. [counts of operands of usual
/// kernels: derived; gradient of frozen norms: tensorflow/python/ops/nn_grad.py] Wrong where a
/// tensor stays in the cache between two passes. Requires a known `elementwise` and batch > 0.
LayerPasses passes_of_layer(const Network& network, const Layer& layer, double batch,
                            const ComputeTraits& way);

}  // namespace dlscale::model::sheet
