#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {

/// Sizes that a memory benchmark accepts, and the values of its size words.
struct SizeRule {
  std::size_t unit = 1;    ///< sizes are whole multiples of it
  std::size_t beyond = 0;  ///< value of "beyond_caches"; 0: not known here
};

/// Four times the last-level cache, in whole lines of 64 bytes: an array of that size does not fit
/// in the caches [McCalpin, STREAM run rules]. 0 for an unknown cache.
std::size_t beyond_caches(Bytes last_level_cache);

/// The sizes that an axis lists, each once, ascending: quantities; "beyond_caches"; "sweep", which
/// doubles from 4 KiB to beyond_caches. Throws ConfigError.
std::vector<std::size_t> sizes_of(const Context& context, std::string_view axis,
                                  const SizeRule& rule);

}  // namespace dlscale::bench
