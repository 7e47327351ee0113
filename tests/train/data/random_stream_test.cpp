#include "train/data/random.hpp"

#include <gtest/gtest.h>

#include <array>

namespace dlscale::train {
namespace {

// Of the authors' reference implementation for seed 1234567.
TEST(RandomStream, IsSplitMix64) {
  RandomStream random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317U);
  EXPECT_EQ(random.next(), 3203168211198807973U);
  EXPECT_EQ(random.next(), 9817491932198370423U);
}

TEST(RandomStream, DrawsEveryNumberBelowItsLimitEquallyOften) {
  RandomStream random(5);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70000; ++i) ++counts.at(random.below(7));
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);  // five standard deviations
}

}  // namespace
}  // namespace dlscale::train
