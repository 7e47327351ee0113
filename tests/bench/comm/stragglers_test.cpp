#include "bench/comm/traffic/stragglers.hpp"

#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/comm/traffic/traffic.hpp"

namespace dlscale::bench {
namespace {

using testing::HasSubstr;

constexpr std::size_t calls = 20;

/// Calls of a rank, one a second: how long after the second it enters and leaves each.
std::vector<CommonStay> stays(double entry, double exit) {
  std::vector<CommonStay> all;
  for (std::size_t i = 0; i < calls; ++i) {
    const auto begin = static_cast<double>(i);
    all.push_back({Seconds(begin + entry), Seconds(begin + exit)});
  }
  return all;
}

/// The only warning, or nothing.
std::string named(const RankStays& ranks, Doing doing = Doing::the_same, double unsure = 1e-6) {
  const auto warnings = slow_rank_warnings(ranks, doing, Seconds(unsure));
  EXPECT_LE(warnings.size(), 1U);
  return warnings.empty() ? "" : warnings.front();
}

TEST(SlowRanks, AreNotThoseThatWaitForOneThatStartsLate) {
  // Rank 1 is the shortest in the call, for it comes when all others are there.
  const RankStays late{stays(0, 3e-3), stays(2e-3, 3e-3), stays(0, 3e-3)};
  EXPECT_THAT(named(late), HasSubstr("rank 1 starts last in 100 % of the samples, by 67 % of"));
  EXPECT_THAT(named(late, Doing::their_part), HasSubstr("rank 1 starts last"));
  EXPECT_EQ(named(late, Doing::the_same, 2.1e-3), "");  // the clocks may be further apart
}

TEST(SlowRanks, AreThoseThatLeaveLastWhereAllDoTheSame) {
  const RankStays last{stays(0, 3e-3), stays(0, 3e-3), stays(0, 4e-3)};
  EXPECT_THAT(named(last), HasSubstr("rank 2 is last in 100 % of the samples, by 25 % of"));
  EXPECT_EQ(named(last, Doing::their_part), "");
}

TEST(SlowRanks, AreNoneWhereNobodyStartsOrLeavesLate) {
  EXPECT_EQ(named({stays(0, 1e-3)}), "");
  EXPECT_EQ(named({stays(0, 1e-3), stays(1e-5, 1.02e-3)}), "");
  // Who is longest because it enters early is not slow.
  EXPECT_EQ(named({stays(0, 1e-3), stays(2e-4, 1e-3), stays(2e-4, 1e-3)}), "");
}

TEST(SlowRanks, HaveAShortRemark) {
  const std::vector<std::string> warnings{
      "it is noisy in here", "rank 12 starts last in 95 % of the samples, by 7 % of their time: …"};
  EXPECT_EQ(slow_rank_remark(warnings), " (rank 12 starts last)");
  EXPECT_EQ(slow_rank_remark(std::span(warnings).first(1)), "");
}

TEST(Partners, AreAllOthersOnceAndInEveryRoundEachOthers) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    std::vector<std::vector<Rank>> met;
    met.reserve(static_cast<std::size_t>(ranks));
    for (Rank rank = 0; rank < ranks; ++rank) met.push_back(partners(rank, ranks));
    for (Rank rank = 0; rank < ranks; ++rank) {
      const auto& mine = met[static_cast<std::size_t>(rank)];
      ASSERT_EQ(mine.size(), met.front().size());
      std::set<Rank> others;
      for (std::size_t round = 0; round < mine.size(); ++round) {
        EXPECT_EQ(met[static_cast<std::size_t>(mine[round])][round], rank);
        if (mine[round] != rank) others.insert(mine[round]);
      }
      EXPECT_EQ(others.size(), static_cast<std::size_t>(ranks - 1));
    }
  }
}

}  // namespace
}  // namespace dlscale::bench
