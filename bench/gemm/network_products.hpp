#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/gemm.hpp"

namespace dlscale::bench {

/// The matrix products into which our im2col turns all convolutions of these networks, in all
/// passes, for each number of images at once; each distinct one once. `networks`: as --network
/// takes them. Throws ConfigError.
std::vector<GemmShape> network_products(const std::vector<std::string>& networks,
                                        std::span<const int> batches);

}  // namespace dlscale::bench
