#include "bench/engine/benchmark.hpp"

#include <gtest/gtest.h>

#include <string>

namespace dlscale::bench {
namespace {

using Pair = std::tuple<int, std::string>;

TEST(Combinations, ComeInTheOrderOfTheFirstListThenOfTheNext) {
  const std::vector<int> numbers{2, 1};
  const std::vector<std::string> words{"a", "b"};
  EXPECT_EQ(combinations(numbers, words),
            (std::vector<Pair>{{2, "a"}, {2, "b"}, {1, "a"}, {1, "b"}}));
}

TEST(Combinations, AreNoneWhereAListIsEmpty) {
  EXPECT_TRUE(combinations(std::vector<int>{1, 2}, std::vector<int>()).empty());
  EXPECT_TRUE(combinations(std::vector<int>(), std::vector<int>{1, 2}).empty());
}

TEST(Combinations, OfOneListAreItsValues) {
  EXPECT_EQ(combinations(std::vector<int>{3, 4}), (std::vector<std::tuple<int>>{{3}, {4}}));
  EXPECT_EQ(combinations().size(), 1U);
}

}  // namespace
}  // namespace dlscale::bench
