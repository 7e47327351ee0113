#include "bench/comm/traffic/job_clock.hpp"

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "bench/comm/traffic/start_skew.hpp"

namespace dlscale::bench {
namespace {

/// A clock that shows `offset` at the common time 0, and gains `drift` a second.
struct FakeClock {
  double offset = 0;
  double drift = 0;
  [[nodiscard]] Seconds shows(double common) const {
    return Seconds(common + offset + drift * common);
  }
};

/// A message that begins at `start` and takes so long there and back.
RoundTrip trip(const FakeClock& clock, double start, double there, double back) {
  return {Seconds(start), clock.shows(start + there), Seconds(start + there + back)};
}

double truth(const FakeClock& clock, Seconds at) {
  return clock.shows(at.si()).si() - at.si();
}

TEST(ClockOffset, IsExactWhereBothWaysTakeAsLong) {
  const FakeClock clock{.offset = -3.5};
  const std::vector<RoundTrip> trips{trip(clock, 1, 2e-6, 2e-6)};
  const ClockOffset found = clock_offset(trips);
  EXPECT_NEAR(found.ahead.si(), -3.5, 1e-14);
  EXPECT_NEAR(found.at.si(), 1 + 2e-6, 1e-14);
  EXPECT_NEAR(found.uncertainty.si(), 2e-6, 1e-14);
}

TEST(ClockOffset, TakesTheQuickestRoundTrip) {
  const FakeClock clock{.offset = 0.25};
  const std::vector<RoundTrip> trips{trip(clock, 1, 90e-6, 10e-6), trip(clock, 2, 1e-6, 2e-6),
                                     trip(clock, 3, 1e-6, 70e-6)};
  const ClockOffset found = clock_offset(trips);
  EXPECT_NEAR(found.uncertainty.si(), 1.5e-6, 1e-12);
  EXPECT_NEAR(found.ahead.si(), 0.25 - 0.5e-6, 1e-12);
}

TEST(ClockOffset, IsOffByAllOfTheUncertaintyWhereOneWayTakesNoTime) {
  const FakeClock clock{.offset = 7};
  for (const auto& [there, back] : {std::pair(4e-6, 0.0), std::pair(0.0, 4e-6)}) {
    const ClockOffset found = clock_offset(std::vector<RoundTrip>{trip(clock, 1, there, back)});
    EXPECT_NEAR(std::abs(found.ahead.si() - 7), found.uncertainty.si(), 1e-12);
    EXPECT_NEAR(found.uncertainty.si(), 2e-6, 1e-12);
  }
}

TEST(ClockOffset, IsWithinItsUncertaintyWhateverTheDelays) {
  std::mt19937_64 random(1);
  std::exponential_distribution<double> delay(1 / 20e-6);
  for (int run = 0; run < 200; ++run) {
    const FakeClock clock{.offset = 0.1 * run - 10, .drift = 1e-6 * (run % 7)};
    std::vector<RoundTrip> trips;
    double now = run;
    for (int i = 0; i < 50; ++i) {
      trips.push_back(trip(clock, now, 1e-6 + delay(random), 5e-6 + delay(random)));
      now = trips.back().received.si();
    }
    const ClockOffset found = clock_offset(trips);
    // What the clock gains during the round trip comes on top, and rounding.
    EXPECT_LE(std::abs(found.ahead.si() - truth(clock, found.at)),
              found.uncertainty.si() * (1 + 1e-5) + 1e-12);
  }
}

ClockOffset look(const FakeClock& clock, double at, double there, double back) {
  return clock_offset(std::vector<RoundTrip>{trip(clock, at, there, back)});
}

TEST(RankClock, TellsTheCommonTimeOfAClockThatDrifts) {
  const FakeClock clock{.offset = 1000, .drift = 50e-6};
  const RankClock found(look(clock, 1, 1e-6, 1e-6), look(clock, 11, 1e-6, 1e-6));
  EXPECT_NEAR(found.drift(), 50e-6, 1e-12);
  for (const double at : {1.0, 4.0, 7.5, 11.0}) {
    EXPECT_NEAR(found.common(clock.shows(at)).si(), at, 1e-11) << at;
  }
  // A single look would be wrong by half a millisecond at the end.
  EXPECT_GT(std::abs(clock.shows(11).si() - look(clock, 1, 1e-6, 1e-6).ahead.si() - 11), 4e-4);
}

TEST(RankClock, StaysWithinTheLargerUncertainty) {
  const FakeClock clock{.offset = -2, .drift = -20e-6};
  const RankClock found(look(clock, 1, 0, 6e-6), look(clock, 5, 2e-6, 0));
  EXPECT_NEAR(found.uncertainty().si(), 3e-6, 1e-11);
  for (double at = 1; at <= 5; at += 0.25) {
    EXPECT_LE(std::abs(found.common(clock.shows(at)).si() - at), 3e-6 + 1e-9) << at;
  }
}

TEST(RankClock, OfTheCommonClockItselfIsThatClock) {
  const RankClock found({.at = Seconds(3), .ahead = {}, .uncertainty = {}},
                        {.at = Seconds(3), .ahead = {}, .uncertainty = {}});
  EXPECT_EQ(found.drift(), 0);
  EXPECT_EQ(found.common(Seconds(5)).si(), 5);
}

TEST(StartSkew, IsBetweenTheFirstAndTheLastToEnter) {
  const std::vector<CommonStay> stays{
      {Seconds(2), Seconds(9)}, {Seconds(5), Seconds(8)}, {Seconds(3), Seconds(10)}};
  EXPECT_EQ(start_skew(stays).si(), 3);
  EXPECT_EQ(last_entry_to_last_exit(stays).si(), 5);
}

TEST(StartSkew, LeavesOutTheTimeOfRanksThatWereAlone) {
  // The longest stay is 10, but all were there for 1 only.
  const std::vector<CommonStay> stays{{Seconds(0), Seconds(10)}, {Seconds(9.5), Seconds(10.5)}};
  EXPECT_EQ(last_entry_to_last_exit(stays).si(), 1);
}

TEST(StartSkew, OfARankThatLeftBeforeTheLastCameIsNotNegative) {
  // A root that only sends is gone before the other enters.
  const std::vector<CommonStay> stays{{Seconds(0), Seconds(1)}, {Seconds(4), Seconds(4.5)}};
  EXPECT_EQ(last_entry_to_last_exit(stays).si(), 0.5);
}

}  // namespace
}  // namespace dlscale::bench
