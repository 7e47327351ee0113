#pragma once
#include <array>

#include "bench/conv/values.hpp"
#include "bench/engine/cache.hpp"

namespace dlscale::bench {

/// Conditions under which a kernel is measured.
struct Conditions {
  CacheState cache = CacheState::cold;
  ValueKind values = ValueKind::normal;
};

/// The values of --cache for kernels that can rotate through sets of operands.
inline constexpr std::array kernel_cache_states{CacheState::cold, CacheState::producer,
                                                CacheState::hot, CacheState::rotating};

}  // namespace dlscale::bench
