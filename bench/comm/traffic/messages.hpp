#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "backend/comm/elements.hpp"

namespace dlscale::bench {

/// The sizes in bytes that `items` stand for, sorted, each once, for this element type:
///   powers      every power of two from 4 B, or one element, to 64 MiB
///   large       128, 256, 512 MiB and 1 GiB
///   neighbours  one element more and one less than each of the powers, and of the large ones where
///               those are among the items
///   gradients   the messages of training `networks`: a layer's gradients, and buckets of them
///   "64 KiB"    that size, a whole number of elements
/// Throws ConfigError for anything else.
std::vector<std::int64_t> message_sizes(const std::vector<std::string>& items,
                                        const std::vector<std::string>& networks,
                                        backend::ElementType type = backend::ElementType::f32);

/// The sizes, rounded up to equal blocks of whole elements for `ranks`, each once.
std::vector<std::int64_t> in_equal_blocks(const std::vector<std::int64_t>& sizes, int ranks,
                                          backend::ElementType type);

}  // namespace dlscale::bench
