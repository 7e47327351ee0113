#include "train/engine/arena.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace dlscale::train {
namespace {

constexpr std::size_t alignment = 64;

std::vector<LiveRange> random_ranges(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<LiveRange> ranges(1 + random() % 40);
  for (LiveRange& range : ranges) {
    range.bytes = random() % 1000;
    range.first = random() % 30;
    range.last = range.first + random() % 8;
  }
  return ranges;
}

/// The most bytes alive in one step: no arena can be smaller.
std::size_t most_alive(const std::vector<LiveRange>& ranges) {
  std::size_t most = 0;
  for (std::size_t step = 0; step < 40; ++step) {
    std::size_t alive = 0;
    for (const LiveRange& range : ranges) {
      if (range.first <= step && step <= range.last) alive += align_up(range.bytes, alignment);
    }
    most = std::max(most, alive);
  }
  return most;
}

TEST(Arena, NeverLetsTwoLivePiecesOverlap) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto ranges = random_ranges(seed);
    const Placement placement = place(ranges, alignment);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      EXPECT_EQ(placement.offsets[i] % alignment, 0U);
      EXPECT_LE(placement.offsets[i] + ranges[i].bytes, placement.bytes);
      for (std::size_t j = 0; j < i; ++j) {
        const bool together =
            ranges[i].first <= ranges[j].last && ranges[j].first <= ranges[i].last;
        const bool apart = placement.offsets[i] + ranges[i].bytes <= placement.offsets[j] ||
                           placement.offsets[j] + ranges[j].bytes <= placement.offsets[i];
        EXPECT_TRUE(!together || apart) << "seed " << seed << " pieces " << i << " and " << j;
      }
    }
  }
}

TEST(Arena, IsNotMuchLargerThanWhatLivesAtOnce) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto ranges = random_ranges(seed);
    const std::size_t bytes = place(ranges, alignment).bytes;
    EXPECT_GE(bytes, most_alive(ranges));
    EXPECT_LE(static_cast<double>(bytes), 1.6 * static_cast<double>(most_alive(ranges)));
  }
}

TEST(Arena, ReusesTheMemoryOfAPieceThatIsNoLongerNeeded) {
  const std::vector<LiveRange> chain{{100, 0, 1}, {100, 1, 2}, {100, 2, 3}, {100, 3, 4}};
  EXPECT_EQ(place(chain, alignment).bytes, 2U * 128U);
}

TEST(Arena, OfNothingIsEmpty) {
  EXPECT_EQ(place({}, alignment).bytes, 0U);
}

}  // namespace
}  // namespace dlscale::train
