#include "bench/cache.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"

namespace dlscale::bench {
namespace {

TEST(CacheFlusher, ReadsTwiceTheLastLevelCache) {
  const CacheFlusher flusher(40_MiB);
  EXPECT_EQ(flusher.flush(), std::size_t{80} << 20U);
  EXPECT_EQ(flusher.bytes(), std::size_t{80} << 20U);
}

TEST(CacheFlusher, ReadsNoLessThan64MiB) {
  EXPECT_EQ(CacheFlusher(1_MiB).flush(), std::size_t{64} << 20U);
  EXPECT_EQ(CacheFlusher(Bytes(0)).flush(), std::size_t{64} << 20U);
}

TEST(CacheFlusher, WarnsWhereItHasToGuess) {
  EXPECT_EQ(unknown_size_warnings(Bytes(0)).size(), 1U);
  EXPECT_TRUE(unknown_size_warnings(1_MiB).empty());
}

TEST(CacheState, HasANameThatParsesBack) {
  for (const CacheState state : {CacheState::cold, CacheState::producer, CacheState::hot}) {
    EXPECT_EQ(parse_cache_state(cache_state_name(state)), state);
  }
  EXPECT_THROW(parse_cache_state("warm"), ConfigError);
}

}  // namespace
}  // namespace dlscale::bench
