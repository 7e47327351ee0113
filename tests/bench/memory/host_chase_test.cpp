#include "bench/memory/host/host_chase.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

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

}  // namespace
}  // namespace dlscale::bench
