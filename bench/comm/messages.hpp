#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace dlscale::bench {

/// The sizes in bytes, sorted, each once, that `items` stand for:
///   powers      every power of two from 4 B to 64 MiB
///   neighbours  those, one f32 more and one less
///   gradients   the messages of training `networks`: a layer's gradients, and buckets of them
///   "64 KiB"    that size, a whole number of f32
/// Throws ConfigError for anything else.
std::vector<std::int64_t> message_sizes(const std::vector<std::string>& items,
                                        const std::vector<std::string>& networks);

}  // namespace dlscale::bench
