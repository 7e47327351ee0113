#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "backend/host/host.hpp"
#include "bench/memory/host/host_chase.hpp"
#include "bench/memory/host/host_latency.hpp"
#include "bench/memory/host/piecewise_linear_segments.hpp"
#include "bench/memory/host/reported_caches.hpp"
#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

using backend::BoundThread;

HostChase small_chase() {
  return {spread_places(4096, 64), 1, backend::PageSize::small, 1};
}

TEST(ChasePieces, HaveATimeAndNoWarningBeforeTheFirst) {
  const auto group = backend::local_group(1);
  ChasePieces pieces;
  EXPECT_TRUE(pieces.warnings(*group.front()).empty());
  HostChase chase = small_chase();
  EXPECT_GT(pieces.time(chase).access, Seconds(0));
}

/// Beside a thread that never leaves the same core every piece is interrupted sooner or later.
TEST(ChasePieces, AreCountedWhereTheSystemInterruptsThem) {
  const auto group = backend::local_group(1);
  const int core = backend::usable_cores().front();
  const BoundThread bound(core);
  std::jthread other([core](const std::stop_token& stop) {
    const BoundThread same(core);
    while (!stop.stop_requested()) continue;
  });
  HostChase chase = small_chase();
  ChasePieces pieces;
  int taken = 1;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!pieces.time(chase).interrupted && std::chrono::steady_clock::now() < end) ++taken;
  const auto warnings = pieces.warnings(*group.front());
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(pieces.count_text(*group.front()),
            "the system interrupted 1 of all " + std::to_string(taken));
}

using backend::PageSize;

TEST(Places, AreOneInEveryStride) {
  EXPECT_EQ(spread_places(256, 64), (std::vector<std::size_t>{0, 64, 128, 192}));
  EXPECT_EQ(spread_places(64, 8).size(), 8U);
  EXPECT_EQ(spread_places(200, 64).size(), 3U);
}

TEST(Places, OfLongStridesUseEveryLineOfThem) {
  const auto places = spread_places(128 * 4096, 4096);
  std::set<std::size_t> lines;
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(places[i] / 4096, i);
    lines.insert(places[i] % 4096);
  }
  EXPECT_EQ(lines.size(), 64U);
}

TEST(Places, ComeInPairs) {
  EXPECT_EQ(paired_places(2, 768, 8), (std::vector<std::size_t>{0, 8, 768, 776}));
  EXPECT_THROW(paired_places(2, 768, 768), std::logic_error);
}

TEST(HostChase, VisitsEveryPlaceOnce) {
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{4096}, std::size_t{100000}}) {
    HostChase chase(spread_places(bytes, 64), 1, PageSize::small, 1);
    EXPECT_EQ(chase.wrong_elements(), 0U);
    EXPECT_EQ(chase.places(), bytes / 64);
    EXPECT_GT(chase.run(4096), Seconds(0));
  }
}

TEST(HostChase, GoesOnAfterARefreshOfAnySet) {
  for (const std::size_t places : {1U, 2U, 31U, 32U, 33U, 5000U, 200000U}) {
    HostChase chase(spread_places(64 * places, 64), 1, PageSize::small, 1);
    chase.refresh();
    EXPECT_GT(chase.run(16), Seconds(0)) << places;
    chase.refresh();
    EXPECT_GT(chase.run(4096), Seconds(0)) << places;
  }
}

TEST(HostChase, RunsInWholeTurnsOfItsLoop) {
  HostChase chase(spread_places(4096, 64), 1, PageSize::small, 1);
  EXPECT_THROW(static_cast<void>(chase.run(0)), std::logic_error);
  EXPECT_THROW(static_cast<void>(chase.run(100)), std::logic_error);
}

TEST(HostChase, VisitsPairsToo) {
  HostChase chase(paired_places(100, 768, 64), 2, PageSize::small, 5);
  EXPECT_EQ(chase.wrong_elements(), 0U);
  EXPECT_GT(chase.run(4096), Seconds(0));
}

TEST(HostChase, FindsPlacesThatItCannotVisitOnce) {
  const std::vector<std::size_t> twice{0, 64, 64, 128};
  EXPECT_GT(HostChase(twice, 1, PageSize::small, 1).wrong_elements(), 0U);
}

TEST(HostChase, WantsWholeGroups) {
  EXPECT_THROW(HostChase(spread_places(192, 64), 2, PageSize::small, 1), std::logic_error);
  EXPECT_THROW(HostChase({}, 1, PageSize::small, 1), std::logic_error);
}

TEST(HostChase, UsesHugePagesOrSaysWhyNot) {
  try {
    HostChase chase(spread_places(1 << 22, 64), 1, PageSize::huge, 1);
    EXPECT_EQ(chase.wrong_elements(), 0U);
  } catch (const Unsupported& reason) {
    EXPECT_NE(std::string(reason.what()).find("huge"), std::string::npos);
  }
}

std::vector<DistanceLatency> latencies(std::size_t line, double within, double beyond,
                                       double deviation = 0, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(1, deviation);
  std::vector<DistanceLatency> all;
  for (std::size_t distance = 8; distance <= 512; distance *= 2) {
    all.push_back({distance, (distance < line ? within : beyond) * noise(random)});
  }
  return all;
}

TEST(LineSize, IsWhereTheLatencyRises) {
  for (const std::size_t line : {32U, 64U, 128U, 256U}) {
    const auto found = find_line_size(latencies(line, 9, 14));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->bytes, line);
    EXPECT_EQ(found->above, line / 2);
    EXPECT_NEAR(found->ratio, 14.0 / 9, 1e-9);
  }
}

TEST(LineSize, IsFoundUnderNoise) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const auto found = find_line_size(latencies(64, 9, 14, 0.02, seed));
    ASSERT_TRUE(found) << seed;
    EXPECT_EQ(found->bytes, 64U) << seed;
  }
}

TEST(LineSize, IsNotSeenInNoiseOrWhereTheRiseIsSmall) {
  int seen = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    seen += find_line_size(latencies(64, 9, 9, 0.05, seed)) ? 1 : 0;
  }
  EXPECT_EQ(seen, 0);
  EXPECT_FALSE(find_line_size(latencies(64, 9, 9.5)));
  EXPECT_FALSE(find_line_size(latencies(64, 14, 9)));
}

TEST(LineSize, NeedsThreeDistances) {
  EXPECT_FALSE(find_line_size({}));
  const auto all = latencies(16, 9, 14);
  EXPECT_FALSE(find_line_size(std::span(all).first(2)));
}

std::vector<double> counted(std::size_t n) {
  std::vector<double> x(n);
  std::iota(x.begin(), x.end(), 0.0);
  return x;
}

std::vector<double> curve(std::size_t n, double (*y)(double)) {
  std::vector<double> values;
  for (const double x : counted(n)) values.push_back(y(x));
  return values;
}

TEST(PiecewiseLinearSegments, CoverAllPointsOnce) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> any(0, 1);
  for (const std::size_t n : {1U, 2U, 3U, 5U, 40U}) {
    std::vector<double> y(n);
    for (double& each : y) each = any(random);
    std::size_t next = 0;
    for (const Segment& each : piecewise_linear_segments(counted(n), y, 0.01)) {
      EXPECT_EQ(each.first, next);
      EXPECT_GE(each.count, 1U);
      next = each.first + each.count;
      EXPECT_LE(each.end_low, next);
      EXPECT_GE(each.end_high, next);
    }
    EXPECT_EQ(next, n);
  }
}

TEST(PiecewiseLinearSegments, AreOneForALine) {
  const auto found =
      piecewise_linear_segments(counted(30), curve(30, [](double x) { return 3 - 0.5 * x; }), 0.01);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(found[0].slope, -0.5, 1e-9);
  EXPECT_EQ(found[0].end_low, 30U);
  EXPECT_EQ(found[0].end_high, 30U);
}

TEST(PiecewiseLinearSegments, AreCutAtAStep) {
  const auto found = piecewise_linear_segments(
      counted(30), curve(30, [](double x) { return x < 12 ? 1.0 : 2.0; }), 0.01);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].count, 12U);
  EXPECT_EQ(found[0].end_low, 12U);
  EXPECT_EQ(found[0].end_high, 12U);
}

TEST(PiecewiseLinearSegments, AreCutAtABend) {
  const auto found = piecewise_linear_segments(
      counted(40), curve(40, [](double x) { return std::max(0.0, x - 20); }), 0.01);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_NEAR(static_cast<double>(found[0].count), 20, 1);
  EXPECT_NEAR(found[1].slope, 1, 0.01);
}

TEST(PiecewiseLinearSegments, DoNotFollowASinglePointThatSticksOut) {
  auto y = curve(30, [](double) { return 1.0; });
  y[10] = 5;
  EXPECT_EQ(piecewise_linear_segments(counted(30), y, 0.01).size(), 1U);
}

TEST(PiecewiseLinearSegments, AreFewUnderNoiseAlone) {
  int cuts = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> noise(0, 0.1);
    std::vector<double> y(60);
    for (double& each : y) each = noise(random);
    cuts += static_cast<int>(piecewise_linear_segments(counted(60), y, 0.001).size()) - 1;
  }
  EXPECT_LE(cuts, 5);
}

TEST(PiecewiseLinearSegments, HaveTheTrueCutWithinTheIntervalMostly) {
  int within = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> noise(0, 0.1);
    std::vector<double> y(40);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = (i < 17 ? 0 : 0.4) + noise(random);
    const auto found = piecewise_linear_segments(counted(40), y, 0.001);
    if (found.size() < 2) continue;
    within += found[0].end_low <= 17 && found[0].end_high >= 17 ? 1 : 0;
  }
  EXPECT_GE(within, 80);
}

TEST(PiecewiseLinearSegments, WantEquallyManyOfBoth) {
  EXPECT_THROW(piecewise_linear_segments(counted(3), counted(2), 0.01), std::logic_error);
  EXPECT_TRUE(piecewise_linear_segments({}, {}, 0.01).empty());
}

const std::vector<backend::DataCache> reported{
    {1, 48_KiB, Bytes(64)}, {2, 1_MiB, Bytes(64)}, {3, 32_MiB, Bytes(64)}};

CacheLevel level(std::size_t bytes, std::size_t above) {
  return {.bytes = bytes, .latency = 1, .bytes_low = bytes, .bytes_high = above};
}

TEST(ToldCaches, ArePutBesideTheNearestLevel) {
  const std::vector<CacheLevel> measured{level(46000, 50000), level(900000, 1000000),
                                         level(4000000, 5000000), level(1 << 27, 1 << 27)};
  const auto caches = match(reported, measured);
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
    return last_is_smaller(match(reported, measured)).value_or("");
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
  EXPECT_EQ(match(reported, std::vector<CacheLevel>{level(32 << 20, 32 << 20)})[2].measured, 0U);
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
  EXPECT_EQ(match(reported, {}).size(), 3U);
  EXPECT_EQ(comparison(match(reported, {})),
            "L1 48.0 KiB not seen, L2 1.00 MiB not seen, L3 32.0 MiB "
            "not seen");
}

}  // namespace
}  // namespace dlscale::bench
