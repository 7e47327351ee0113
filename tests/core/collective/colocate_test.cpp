#include "core/collective/colocate.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/core/collective/executor.hpp"

/// Schedules whose servers are put on their ranks.
namespace dlscale::collective {
namespace {

using test::settings_of;
using test::text;

const Algorithm& parameter_server() {
  return *find(Collective::all_reduce, "parameter_server");
}

TEST(Colocation, LeavesTheRightResultWithEveryNodeOnARank) {
  for (int p = 1; p <= 9; ++p) {
    for (const Settings& settings : settings_of(parameter_server(), p)) {
      SCOPED_TRACE(text(settings));
      const Schedule schedule = colocated(parameter_server().schedule(settings));
      EXPECT_EQ(schedule.ranks, p);
      EXPECT_EQ(schedule.helpers, 0);
      test::expect_right_result(Collective::all_reduce, schedule, settings);
      if (HasFailure()) return;
    }
  }
}

TEST(Colocation, PutsServersOnRanksInTurnFromTheFirstOn) {
  // Rank 0 gives server 0 and server 4 a slot each; nodes 3 and 7 are on ranks 0 and 1.
  Schedule served{3, 2, {{{0, 3, 0, 1}, {0, 7, 1, 1}}, {{7, 2, 1, 1}}}};
  served.helpers = 5;
  const Schedule schedule = colocated(served);
  EXPECT_EQ(schedule.scratch, 2 * 2);
  const Transfer& own = schedule.rounds[0][0];
  EXPECT_EQ(own.from, 0);
  EXPECT_EQ(own.to, 0);
  EXPECT_EQ(own.shift, 2);
  const Transfer& push = schedule.rounds[0][1];
  EXPECT_EQ(push.to, 1);
  EXPECT_EQ(push.first, 1);
  EXPECT_EQ(push.shift, 4);
  const Transfer& pull = schedule.rounds[1][0];
  EXPECT_EQ(pull.from, 1);
  EXPECT_EQ(pull.to, 2);
  EXPECT_EQ(pull.first, 5);
  EXPECT_EQ(pull.shift, -4);
}

TEST(Colocation, OfOneServerSparesTheMessagesOfItsRank) {
  // Each but the first pushes the message and pulls it, one after the other.
  const Link link{Seconds(1e-5), SecondsPerByte(1e-9), SecondsPerByte()};
  for (const int p : {2, 3, 6}) {
    const Schedule schedule = colocated(parameter_server().schedule({.p = p}));
    const double message = 1e-5 + 1e-3;
    EXPECT_NEAR(time(schedule, link, Bytes(1e6)).si(), 2 * (p - 1) * message, 1e-12) << p;
  }
}

TEST(Colocation, OfAServerOnEveryRankMovesAShareToEachAndBack) {
  const Link link{Seconds(), SecondsPerByte(1e-9), SecondsPerByte()};
  for (const int p : {2, 3, 6}) {
    const Schedule schedule = colocated(parameter_server().schedule({.p = p, .servers = p}));
    EXPECT_NEAR(time(schedule, link, Bytes(1e6)).si(), 2.0 * (p - 1) / p * 1e-3, 1e-12) << p;
  }
}

TEST(Colocation, LeavesAScheduleOfRanksAloneAsItIs) {
  const Schedule ring = find(Collective::all_reduce, "ring")->schedule({.p = 5});
  const Schedule same = colocated(ring);
  ASSERT_EQ(same.rounds.size(), ring.rounds.size());
  EXPECT_EQ(same.scratch, 0);
  for (std::size_t i = 0; i < ring.rounds.size(); ++i) {
    for (std::size_t j = 0; j < ring.rounds[i].size(); ++j) {
      EXPECT_EQ(same.rounds[i][j].to, ring.rounds[i][j].to);
      EXPECT_EQ(same.rounds[i][j].shift, 0);
    }
  }
  const Schedule scratched = find(Collective::all_to_all, "bruck")->schedule({.p = 5});
  EXPECT_THROW(static_cast<void>(colocated(scratched)), std::logic_error);
}

}  // namespace
}  // namespace dlscale::collective
