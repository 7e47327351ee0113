#include "core/collective/pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "core/collective/algorithm.hpp"
#include "core/collective/powers.hpp"

namespace dlscale::collective {
namespace {

constexpr Bytes element(4);
const Link broadcast_link{Seconds(10e-6), SecondsPerByte(1e-10), SecondsPerByte()};

Seconds chain(const Link& link, int p, int segments, Bytes m) {
  return find(Collective::broadcast, "chain")
      ->cost({link, link}, {.p = p, .segments = segments}, m);
}

TEST(OptimalChunk, IsThePublishedOne) {
  EXPECT_NEAR(optimal_chunk(broadcast_link, 8, Bytes(1e8), element).si(), 1290994, 1);  // C056
  EXPECT_NEAR(optimal_chain_time(broadcast_link, 8, Bytes(1e8)).si() * 1e3, 11.6092,
              1e-3);  // C057
}

TEST(OptimalSegments, AreTheFastestOfAllWholeNumbers) {
  for (const int p : {3, 4, 8, 17}) {
    for (const double bytes : {4.0, 64.0, 1e5, 1e7}) {
      const Bytes m(bytes);
      const int best = optimal_segments(broadcast_link, p, m, element);
      const Seconds time = chain(broadcast_link, p, best, m);
      EXPECT_GE(time, optimal_chain_time(broadcast_link, p, m) * (1 - 1e-12));
      const int most = std::min(1000, static_cast<int>(m / element));
      EXPECT_GE(best, 1);
      EXPECT_LE(best, most);
      for (int k = 1; k <= most; ++k) {
        EXPECT_LE(time.si(), chain(broadcast_link, p, k, m).si() * (1 + 1e-12))
            << p << " ranks, " << bytes << " bytes, " << k << " segments";
      }
    }
  }
}

TEST(OptimalSegments, CountReductionAsPartOfTheWire) {
  const Link reduce_link{Seconds(10e-6), SecondsPerByte(1e-10), SecondsPerByte(3e-10)};
  const Link as_much{Seconds(10e-6), SecondsPerByte(4e-10), SecondsPerByte()};
  EXPECT_EQ(optimal_segments(reduce_link, 9, Bytes(1e7), element),
            optimal_segments(as_much, 9, Bytes(1e7), element));
}

TEST(OptimalSegments, AreAsFewOrAsManyAsThereCanBe) {
  const Bytes m(4000);
  EXPECT_EQ(optimal_segments(broadcast_link, 1, m, element), 1);
  EXPECT_EQ(optimal_segments(broadcast_link, 2, m, element), 1);
  const Link no_start_up{Seconds(), SecondsPerByte(1e-10), SecondsPerByte()};
  EXPECT_EQ(optimal_segments(no_start_up, 8, m, element), 1000);
  const Link nothing_but_start_up{Seconds(1e-6), SecondsPerByte(), SecondsPerByte()};
  EXPECT_EQ(optimal_segments(nothing_but_start_up, 8, m, element), 1);
  EXPECT_THROW(static_cast<void>(optimal_segments(broadcast_link, 8, Bytes(2), element)),
               std::logic_error);
}

TEST(Logarithms, RoundDownAndUp) {
  EXPECT_EQ(floor_log2(1), 0);
  EXPECT_EQ(ceiling_log2(1), 0);
  EXPECT_EQ(floor_log2(12), 3);
  EXPECT_EQ(ceiling_log2(12), 4);
  EXPECT_EQ(ceiling_log2(16), 4);
  EXPECT_EQ(largest_power_of_2(17), 16);
  EXPECT_THROW(floor_log2(0), std::logic_error);
}

}  // namespace
}  // namespace dlscale::collective
