#include "bench/engine/cache.hpp"

#include <gtest/gtest.h>

#include <array>

#include "core/base/error.hpp"

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
  EXPECT_THROW(parse_cache_state("rotating"), ConfigError) << "needs several sets of operands";
  constexpr std::array rotating{CacheState::rotating};
  EXPECT_EQ(parse_cache_state("rotating", rotating), CacheState::rotating);
  EXPECT_THROW(parse_cache_state("hot", rotating), ConfigError);
}

TEST(CacheState, RotatesAmongEnoughSetsThatTheOthersFillTheCaches) {
  // 80 MiB have to pass: 8 other sets of 10 MiB, or 9 of a little less.
  EXPECT_EQ(rotation_sets(40_MiB, 10_MiB), 9);
  EXPECT_EQ(rotation_sets(40_MiB, 10_MiB - Bytes(1)), 10);
  EXPECT_EQ(rotation_sets(40_MiB, 1000_MiB), 2);
  EXPECT_EQ(rotation_sets(Bytes(0), 32_MiB), 3);
}

}  // namespace
}  // namespace dlscale::bench
