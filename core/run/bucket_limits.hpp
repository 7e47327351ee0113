#pragma once
#include "core/base/units.hpp"

namespace dlscale {

/// A bucket of gradients is closed once it holds this many bytes. The first bucket of an iteration
/// closes early, so that communication starts soon. [PyTorch reducer.hpp: kDefaultFirstBucketBytes,
/// kDefaultBucketBytesCap]
inline constexpr Bytes first_bucket_limit{1024.0 * 1024};
inline constexpr Bytes bucket_limit{25 * 1024.0 * 1024};

}  // namespace dlscale
