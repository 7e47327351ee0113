#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {

/// Working sets or arrays that a memory benchmark may be asked for, and two words for them.
struct SizeRule {
  std::size_t unit = 1;    ///< sizes are whole multiples of it
  std::size_t beyond = 0;  ///< "beyond_caches"; 0: not known here
};

/// Four times the last-level cache, in whole lines of 64 bytes: an array of that size does not live
/// in it [McCalpin, STREAM run rules]. 0 for a cache that is not known.
std::size_t beyond_caches(Bytes last_level_cache);

/// The sizes that an axis lists, each once, growing: quantities; "beyond_caches"; "sweep", which is
/// 4 KiB to beyond_caches by doublings. Throws ConfigError.
std::vector<std::size_t> sizes_of(const Context& context, std::string_view axis,
                                  const SizeRule& rule);

}  // namespace dlscale::bench
