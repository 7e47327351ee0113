#pragma once
#include "core/network/network.hpp"
#include "core/network/step.hpp"
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

/// Elements that a step's kernels move beside its products, in passes over its output of n
/// elements (i: of its input):
///                                forward   backward   kernels
///   bias                         2 n       n          1, 1
///   batch norm                   3 n       5 n        2, 1
///   layer and RMS norm           2 n       4 n        1, 2
///   ReLU, activation             2 n       3 n        1, 1
///     ReLU, fused                0         n          0, 0    (its sign is read once more)
///   sum, scale                   3 n       3 n        1, 1
///     fused                      n         2 n        0, 1
///   gated unit                   3 n       5 n        1, 1
///   softmax of attention         8 n       9 n        4, 4    (scale, mask, softmax, dropout)
///   concatenation, dropout, rotation, tokens, embedding, softmax of a route   2 n   2 n   1, 1
///   positions                    n         n          1, 1
///   pooling, first token         i + n     i + 2 n    1, 1
///   local response               3 n       5 n        1, 1
///   cross-entropy of images      3 i       2 i        1, 1    (i: its scores)
///     of tokens                  4 i       3 i        3, 2
/// Where batch norm applies what follows (norm_act, all), ReLUs after batch norms and sums are
/// fused, and sums and scales; where element-wise chains are joined, ReLUs after sums are. A ReLU
/// that the network itself has fused (Layer::relu) counts as fused. Networks over sequences take
/// half of all where a compiler fuses (all). Backward of a sum counts with the first backward pass
/// of its first input that has one, and accumulating the gradients of several consumers is part of
/// it. [counts of operands of usual kernels: derived; softmax and the half: results/published/cold]
/// Wrong where a tensor stays in the cache between two passes, and where kernels are fused in other
/// ways, as attention often is today. Requires batch ≥ 1.
MemoryPasses passes_of(const Network& network, Step step, int batch, Elementwise fusion);

}  // namespace dlscale::model::sheet
