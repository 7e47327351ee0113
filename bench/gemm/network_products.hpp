#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/network/gemm.hpp"

namespace dlscale::bench {

/// Part of a convolution that becomes one product.
enum class Cut {
  blocks,  ///< the pixels of one im2col block
  whole,   ///< all pixels of all images
};
/// Parses "blocks" or "whole". Throws ConfigError.
Cut parse_cut(const std::string& name);

/// The matrix products that im2col makes of all convolutions of these networks, in all passes, for
/// each number of images; each distinct one once. `networks` are values of --network. Throws
/// ConfigError.
std::vector<GemmShape> network_products(const std::vector<std::string>& networks,
                                        std::span<const int> batches, std::span<const Cut> cuts);

}  // namespace dlscale::bench
