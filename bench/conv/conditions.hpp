#pragma once
#include <array>

#include "bench/conv/values.hpp"
#include "bench/engine/cache.hpp"

namespace dlscale::bench {

/// Under what to measure a kernel.
struct Conditions {
  CacheState cache = CacheState::cold;
  ValueKind values = ValueKind::normal;
};

/// All that --cache may name where kernels can run on sets of operands in turn.
inline constexpr std::array kernel_cache_states{CacheState::cold, CacheState::producer,
                                                CacheState::hot, CacheState::rotating};

}  // namespace dlscale::bench
