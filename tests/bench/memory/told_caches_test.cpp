#include "bench/memory/host/told_caches.hpp"

#include <gtest/gtest.h>

namespace dlscale::bench {
namespace {

const std::vector<backend::DataCache> told{
    {1, 48_KiB, Bytes(64)}, {2, 1_MiB, Bytes(64)}, {3, 32_MiB, Bytes(64)}};

CacheLevel level(std::size_t bytes, std::size_t above) {
  return {.bytes = bytes, .latency = 1, .bytes_low = bytes, .bytes_high = above};
}

TEST(ToldCaches, ArePutBesideTheNearestLevel) {
  const std::vector<CacheLevel> measured{level(46000, 50000), level(900000, 1000000),
                                         level(4000000, 5000000), level(1 << 27, 1 << 27)};
  const auto caches = match(told, measured);
  ASSERT_EQ(caches.size(), 3U);
  EXPECT_EQ(caches[0].measured, 46000U);
  EXPECT_EQ(caches[1].measured, 900000U);
  EXPECT_EQ(caches[2].measured, 0U);
  EXPECT_EQ(comparison(caches),
            "L1 48.0 KiB measured 44.9 KiB, L2 1.00 MiB measured 879 KiB, L3 32.0 MiB seen up to "
            "3.81 MiB");
}

TEST(ToldCaches, SayWhyTheLastMayLookSmaller) {
  const auto last_seen = [](std::vector<CacheLevel> measured) {
    return last_is_smaller(match(told, measured)).value_or("");
  };
  const std::string part = last_seen({level(900000, 1000000), level(4 << 20, 5 << 20)});
  EXPECT_TRUE(
      part.starts_with("the system says that L3 has 32.0 MiB, but the latencies show "
                       "4.00 MiB of it: other programs"))
      << part;
  EXPECT_NE(last_seen({level(23 << 20, 24 << 20)}).find("23.0 MiB of it"), std::string::npos);
  EXPECT_NE(last_seen({level(46000, 50000)}).find("no level of it"), std::string::npos);
  EXPECT_EQ(last_seen({level(24 << 20, 26 << 20)}), "");
  EXPECT_EQ(last_seen({level(40 << 20, 42 << 20)}), "");
  EXPECT_FALSE(last_is_smaller({}));
}

TEST(ToldCaches, AreNotMemoryWhoseEndWasNotSeen) {
  EXPECT_EQ(match(told, std::vector<CacheLevel>{level(32 << 20, 32 << 20)})[2].measured, 0U);
}

TEST(ToldCaches, ShareNoLevel) {
  const std::vector<backend::DataCache> two{{1, 48_KiB, Bytes(0)}, {2, 64_KiB, Bytes(0)}};
  const auto caches = match(two, std::vector<CacheLevel>{level(50000, 60000)});
  EXPECT_EQ(caches[0].measured, 50000U);
  EXPECT_EQ(caches[1].measured, 0U);
}

TEST(ShareOfPages, IsWhatHugePagesTakeAway) {
  EXPECT_DOUBLE_EQ(share_of_pages(10, 30, 30), 0);
  EXPECT_DOUBLE_EQ(share_of_pages(10, 30, 25), 0.25);
  EXPECT_DOUBLE_EQ(share_of_pages(10, 30, 10), 1);
  EXPECT_DOUBLE_EQ(share_of_pages(10, 30, 9), 1);   // noise
  EXPECT_DOUBLE_EQ(share_of_pages(10, 30, 31), 0);  // noise
  EXPECT_DOUBLE_EQ(share_of_pages(10, 10, 5), 0);   // nothing has risen
}

TEST(ToldCaches, MayBeNone) {
  EXPECT_TRUE(match({}, {}).empty());
  EXPECT_EQ(comparison({}), "");
  EXPECT_EQ(match(told, {}).size(), 3U);
  EXPECT_EQ(comparison(match(told, {})),
            "L1 48.0 KiB not seen, L2 1.00 MiB not seen, L3 32.0 MiB "
            "not seen");
}

}  // namespace
}  // namespace dlscale::bench
