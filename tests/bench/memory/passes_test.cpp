#include "bench/memory/host/team.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace dlscale::bench {
namespace {

/// Of one rank on which a pass takes so long.
int passes_of(Seconds pass) {
  const auto group = backend::local_group(1);
  return passes_for(*group.front(), [pass](int) { return pass; });
}

TEST(Passes, LastAMillisecondTogether) {
  for (const double pass : {1e-9, 4e-6, 3e-5, 4e-4, 1e-3, 2.0}) {
    const int passes = passes_of(Seconds(pass));
    EXPECT_GE(passes * pass, least_sample.si()) << pass;
    EXPECT_TRUE(passes == 1 || passes / 2 * pass < least_sample.si()) << pass;
  }
}

TEST(Passes, AreMoreWhereMoreThreadsShareTheArray) {
  EXPECT_EQ(passes_of(Seconds(4e-6 / 8)), 8 * passes_of(Seconds(4e-6)));
}

/// An interruption of 5 ms in one sample of three.
TEST(Passes, AreNotFewerForAnInterruption) {
  const auto group = backend::local_group(1);
  int samples = 0;
  const int passes = passes_for(*group.front(), [&](int count) {
    const double interruption = ++samples % 3 == 0 ? 5e-3 : 0;
    return Seconds(4e-6 + interruption / count);
  });
  EXPECT_EQ(passes, passes_of(Seconds(4e-6)));
}

TEST(Passes, EndWhereThereIsNothingToTime) {
  EXPECT_EQ(passes_of(Seconds(0)), 1 << 30);
}

TEST(Passes, AreThoseOfTheFastestRankOnAll) {
  const auto group = backend::local_group(3);
  std::vector<int> passes(group.size());
  {
    std::vector<std::jthread> ranks;
    ranks.reserve(passes.size());
    for (std::size_t rank = 0; rank < passes.size(); ++rank) {
      ranks.emplace_back([&, rank] {
        const Seconds pass(rank == 1 ? 1e-6 : 1e-4);
        passes[rank] = passes_for(*group[rank], [pass](int) { return pass; });
      });
    }
  }
  EXPECT_EQ(passes, std::vector<int>(group.size(), passes_of(Seconds(1e-6))));
}

}  // namespace
}  // namespace dlscale::bench
