#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/network/gemm.hpp"

namespace dlscale::bench {

/// What of a convolution becomes one product.
enum class Cut {
  blocks,  ///< the pixels that our im2col takes at a time
  whole,   ///< all pixels of all images
};
/// "blocks" or "whole". Throws ConfigError.
Cut parse_cut(const std::string& name);

/// The matrix products into which im2col turns all convolutions of these networks, in all passes,
/// for each number of images at once; each distinct one once. `networks`: as --network takes them.
/// Throws ConfigError.
std::vector<GemmShape> network_products(const std::vector<std::string>& networks,
                                        std::span<const int> batches, std::span<const Cut> cuts);

}  // namespace dlscale::bench
