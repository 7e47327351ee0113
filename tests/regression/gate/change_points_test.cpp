#include "regression/levels/change_points.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "noise_models.hpp"

namespace dlscale::regression {
namespace {

std::vector<std::size_t> places(const ChangePoints& found) {
  std::vector<std::size_t> all;
  for (const ChangePoint& change : found.changes) all.push_back(change.after);
  return all;
}

std::vector<double> levels(std::initializer_list<std::pair<int, double>> parts) {
  std::vector<double> values;
  for (const auto& [points, level] : parts) values.insert(values.end(), points, level);
  return values;
}

TEST(ChangePoints, SeeNothingInConstantOrQuantisedData) {
  EXPECT_EQ(find_change_points(levels({{60, 5.0}})).shape, HistoryShape::steady);
  std::vector<double> quantised;
  for (int i = 0; i < 60; ++i) quantised.push_back(i % 3 == 0 ? 100 : 101);
  EXPECT_EQ(find_change_points(quantised).shape, HistoryShape::steady);
}

TEST(ChangePoints, FindExactStepsOfConstantData) {
  const ChangePoints found = find_change_points(levels({{30, 100}, {20, 105}, {25, 102}}));
  EXPECT_EQ(found.shape, HistoryShape::changed);
  EXPECT_EQ(places(found), (std::vector<std::size_t>{30, 50}));
  EXPECT_EQ(found.changes[0].before, 29U);
  EXPECT_NEAR(found.changes[0].ratio, 1.05, 1e-12);
  EXPECT_NEAR(found.segments[1].level, 105, 1e-9);
  EXPECT_EQ(found.segments[1].points, 20U);
}

TEST(ChangePoints, DropChangesBelowTheMargin) {
  EXPECT_EQ(find_change_points(levels({{30, 100}, {30, 100.9}})).shape, HistoryShape::steady);
  EXPECT_EQ(find_change_points(levels({{30, 100}, {30, 101.1}})).shape, HistoryShape::changed);
}

TEST(ChangePoints, SayWhenThereAreTooFewPoints) {
  for (std::size_t n = 0; n < 10; ++n) {
    EXPECT_EQ(find_change_points(std::vector<double>(n, 1.0)).shape, HistoryShape::too_short) << n;
  }
  EXPECT_EQ(places(find_change_points(levels({{5, 100}, {5, 150}}))),
            (std::vector<std::size_t>{5}));
}

TEST(ChangePoints, IgnoreAGiantOutlierEvenAtTheEnd) {
  Draws draws(2);
  std::vector<double> history = draw_history(Noise::gaussian_1, 60, 60, 0, draws);
  history.back() *= 50;
  EXPECT_EQ(find_change_points(history).shape, HistoryShape::steady);
}

TEST(ChangePoints, LeaveOutAndCountWhatIsNoTime) {
  std::vector<double> values = levels({{20, 100}, {20, 110}});
  values[3] = std::numeric_limits<double>::quiet_NaN();
  values[25] = std::numeric_limits<double>::infinity();
  values[30] = -1;
  values[31] = 0;
  const ChangePoints found = find_change_points(values);
  EXPECT_EQ(found.unusable, 4U);
  EXPECT_EQ(found.points, 36U);
  EXPECT_EQ(places(found), (std::vector<std::size_t>{20}));
}

TEST(ChangePoints, DoNotDependOnTheUnitAndTurnWithTime) {
  Draws draws(3);
  const std::vector<double> history = draw_history(Noise::gaussian_1, 100, 40, 0.05, draws);
  const ChangePoints found = find_change_points(history);
  ASSERT_EQ(found.changes.size(), 1U);
  std::vector<double> scaled = history;
  for (double& value : scaled) value *= 1e-6;
  EXPECT_EQ(places(find_change_points(scaled)), places(found));
  std::vector<double> turned(history.rbegin(), history.rend());
  const ChangePoints back = find_change_points(turned);
  ASSERT_EQ(back.changes.size(), 1U);
  EXPECT_EQ(back.changes[0].after, 100 - found.changes[0].after);
  EXPECT_NEAR(back.changes[0].ratio, 1 / found.changes[0].ratio, 1e-12);
  std::vector<double> inverted = history;  // as a rate
  for (double& value : inverted) value = 1 / value;
  EXPECT_EQ(places(find_change_points(inverted)), places(found));
}

TEST(ChangePoints, StayHoweverManyPointsFollow) {
  const std::vector<double> values = levels({{100, 100}, {100, 200}, {400, 220}});
  EXPECT_EQ(places(find_change_points(values)), (std::vector<std::size_t>{100, 200}));
}

/// A history that was slower for a while and is so again: the steps must not pass for noise.
std::vector<double> step_after_a_bump(double rho, Draws& draws) {
  std::vector<double> values;
  double deviation = draws.normal();
  for (int i = 0; i < 150; ++i) {
    deviation = rho * deviation + std::sqrt(1 - rho * rho) * draws.normal();
    const double level = i >= 114 ? 1.087 : i >= 25 && i < 63 ? 1.069 : 1;
    values.push_back(level * std::exp(0.013 * deviation));
  }
  return values;
}

// One alert a change, within 3 commits of its place, and none that later commits move or take away.
TEST(ChangePoints, AreOneAChangeNightByNight) {
  std::size_t near = 0;
  std::size_t found = 0;
  std::size_t histories = 0;
  for (const double rho : {0.0, 0.4, 0.6}) {
    Draws draws(5);
    for (int history = 0; history < 8; ++history, ++histories) {
      const std::vector<double> values = step_after_a_bump(rho, draws);
      std::vector<std::size_t> before;
      for (std::size_t nights = 20; nights <= values.size(); ++nights) {
        const auto now = places(find_change_points(std::span(values).first(nights)));
        ASSERT_GE(now.size(), before.size());
        ASSERT_TRUE(std::equal(before.begin(), before.end(), now.begin())) << nights;
        before = now;
      }
      found += before.size();
      for (const std::size_t step : {25U, 63U, 114U}) {
        near += std::ranges::any_of(
            before, [step](std::size_t place) { return place + 3 >= step && place <= step + 3; });
      }
    }
  }
  EXPECT_GE(near * 10, 3 * histories * 9);
  EXPECT_LE(found * 10, 3 * histories * 11);
}

TEST(ChangePoints, SayWhichLaterChangeTookTheLevelBack) {
  const ChangePoints found = find_change_points(levels({{20, 100}, {20, 110}, {20, 100}}));
  ASSERT_EQ(found.changes.size(), 2U);
  EXPECT_EQ(found.changes[0].back, 1U);
  EXPECT_EQ(found.changes[1].back, 0U);
  EXPECT_EQ(find_change_points(levels({{20, 100}, {20, 120}, {20, 110}})).changes[0].back, 0U);
}

TEST(ChangePoints, HaveARangeWhereNoiseHidesTheirPlace) {
  Draws draws(8);
  const ChangePoints exact =
      find_change_points(draw_history(Noise::gaussian_1, 80, 40, 0.2, draws));
  ASSERT_EQ(exact.changes.size(), 1U);
  EXPECT_EQ(exact.changes[0].earliest, 40U);
  EXPECT_EQ(exact.changes[0].latest, 40U);
  const ChangePoints wide = find_change_points(draw_history(Noise::ar_5, 120, 60, 0.025, draws));
  ASSERT_EQ(wide.changes.size(), 1U);
  EXPECT_LT(wide.changes[0].earliest, wide.changes[0].latest);
  EXPECT_LE(wide.changes[0].earliest, 60U);
  EXPECT_GE(wide.changes[0].latest, 60U);
}

TEST(ChangePoints, CallAHistoryThatJumpsToAndFroBimodal) {
  const ChangePoints found =
      find_change_points(levels({{12, 530}, {10, 20702}, {14, 530}, {9, 20702}, {11, 530}}));
  EXPECT_EQ(found.shape, HistoryShape::bimodal);
  ASSERT_EQ(found.modes.size(), 2U);
  EXPECT_NEAR(found.modes[0], 530, 1e-6);
  EXPECT_NEAR(found.modes[1], 20702, 1e-4);
  // Single points that jump, more often in the second half: its median moves.
  std::vector<double> mixed;
  for (int i = 0; i < 80; ++i) mixed.push_back((i < 40 ? i % 4 == 0 : i % 4 != 0) ? 20702 : 530);
  const ChangePoints jumping = find_change_points(mixed);
  EXPECT_EQ(jumping.shape, HistoryShape::bimodal);
  EXPECT_EQ(jumping.modes.size(), 2U);
  for (const ChangePoint& change : found.changes) EXPECT_TRUE(change.between_modes);
  // There and back once is a regression and its fix.
  EXPECT_EQ(find_change_points(levels({{20, 100}, {20, 110}, {20, 100}})).shape,
            HistoryShape::changed);
}

TEST(ChangePoints, OfABimodalHistoryExcuseOnlyThoseBetweenItsModes) {
  const ChangePoints found = find_change_points(
      levels({{12, 100}, {12, 110}, {12, 100}, {12, 110}, {12, 100}, {20, 200}}));
  EXPECT_EQ(found.shape, HistoryShape::bimodal);
  ASSERT_EQ(found.modes.size(), 2U);  // 200 is none: nothing has returned to it
  EXPECT_NEAR(found.modes[1], 110, 1e-9);
  ASSERT_EQ(found.changes.size(), 5U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(found.changes[i].between_modes) << i;
  EXPECT_FALSE(found.changes[4].between_modes);
  EXPECT_EQ(found.changes[4].after, 60U);
}

TEST(ChangePoints, OfPointsThatJumpExcuseNoStepToAThirdLevel) {
  std::vector<double> values;
  for (int i = 0; i < 80; ++i) values.push_back((i < 40 ? i % 4 == 0 : i % 4 != 0) ? 200 : 100);
  values.insert(values.end(), 20, 300);
  const ChangePoints found = find_change_points(values);
  EXPECT_EQ(found.shape, HistoryShape::bimodal);
  ASSERT_FALSE(found.changes.empty());
  EXPECT_FALSE(found.changes.back().between_modes);
  EXPECT_EQ(found.changes.back().after, 80U);
}

/// A history whose level moves by straight lines between corners, in logarithms.
struct Slope {
  const char* name;
  std::vector<std::pair<std::size_t, double>> corners;
  double noise;
  double rho = 0;
};

std::vector<double> drawn(const Slope& slope, Draws& draws) {
  std::vector<double> values;
  double deviation = draws.normal();
  for (std::size_t i = 1; i < slope.corners.size(); ++i) {
    const auto [first, from] = slope.corners[i - 1];
    const auto [last, to] = slope.corners[i];
    for (std::size_t at = first; at < last; ++at) {
      deviation = slope.rho * deviation + std::sqrt(1 - slope.rho * slope.rho) * draws.normal();
      const double share = static_cast<double>(at - first) / static_cast<double>(last - first);
      values.push_back(std::exp(from + share * (to - from) + slope.noise * deviation));
    }
  }
  return values;
}

TEST(Drifts, FromTheFirstCommitOnAreOneChange) {
  const std::vector<Slope> slopes{{"0.4 % a commit, noise of 0.4 %", {{0, 0}, {40, 0.16}}, 0.004},
                                  {"the same, faster", {{0, 0}, {40, -0.16}}, 0.004},
                                  {"0.2 % a commit", {{0, 0}, {60, 0.12}}, 0.004},
                                  {"0.6 %, noise of 1 %", {{0, 0}, {45, 0.27}}, 0.01},
                                  {"1 %, noise of 1.3 %", {{0, 0}, {40, 0.4}}, 0.013},
                                  {"without noise", {{0, 0}, {40, 0.16}}, 0},
                                  {"neighbours alike", {{0, 0}, {40, 0.16}}, 0.004, 0.4}};
  for (const Slope& slope : slopes) {
    Draws draws(11);
    std::size_t found = 0;
    std::size_t alerts = 0;
    for (int history = 0; history < 8; ++history) {
      const ChangePoints all = find_change_points(drawn(slope, draws));
      const double total = slope.corners.back().second;
      alerts += std::ranges::count(all.changes, false, &ChangePoint::goes_on);
      if (all.changes.empty()) continue;
      found += std::ranges::all_of(
          all.changes, [total](const ChangePoint& change) { return change.upward == (total > 0); });
      const double shown =
          std::log(all.changes.back().level_after / all.changes.front().level_before);
      EXPECT_NEAR(shown / total, 0.85, 0.25) << slope.name;
    }
    EXPECT_EQ(found, 8U) << slope.name;
    EXPECT_LE(alerts, 11U) << slope.name;
  }
}

TEST(Drifts, AfterAQuietTimeAreJoinedOnceTheyShow) {
  const std::vector<Slope> slopes{{"16 % in 40", {{0, 0}, {60, 0}, {100, 0.16}}, 0.004},
                                  {"10 % in 90", {{0, 0}, {60, 0}, {150, 0.10}}, 0.004},
                                  {"20 % in 50", {{0, 0}, {60, 0}, {110, 0.2}, {150, 0.2}}, 0.013},
                                  {"faster", {{0, 0}, {60, 0}, {110, -0.2}, {150, -0.2}}, 0.013}};
  for (const Slope& slope : slopes) {
    Draws draws(12);
    std::size_t joined = 0;
    for (int history = 0; history < 8; ++history) {
      const ChangePoints all = find_change_points(drawn(slope, draws));
      EXPECT_FALSE(all.changes.empty()) << slope.name;
      joined += std::ranges::any_of(all.changes, &ChangePoint::goes_on);
    }
    EXPECT_GE(joined, 2U) << slope.name;
  }
}

TEST(Drifts, TakeNoStepsIn) {
  struct Staircase {
    const char* name;
    std::vector<std::pair<std::size_t, double>> steps;
  };
  const std::vector<Staircase> staircases{{"one", {{60, 0.05}}},
                                          {"two, 6 apart", {{60, 0.08}, {66, 0.08}}},
                                          {"two, 12 apart", {{60, 0.08}, {72, 0.08}}},
                                          {"three, 12 apart", {{60, 0.05}, {72, 0.05}, {84, 0.05}}},
                                          {"three, 30 apart", {{30, 0.05}, {60, 0.05}, {90, 0.05}}},
                                          {"early", {{6, 0.08}}}};
  for (const Staircase& staircase : staircases) {
    Draws draws(13);
    std::size_t joined = 0;
    for (int history = 0; history < 8; ++history) {
      std::vector<double> values;
      for (std::size_t i = 0; i < 120; ++i) {
        double level = 0;
        for (const auto& [place, size] : staircase.steps) level += i >= place ? size : 0;
        values.push_back(std::exp(level + 0.013 * draws.normal()));
      }
      const ChangePoints all = find_change_points(values);
      EXPECT_FALSE(all.changes.empty()) << staircase.name;
      joined += std::ranges::any_of(
          all.changes, [](const ChangePoint& change) { return change.goes_on || change.is_drift; });
    }
    EXPECT_LE(joined, 1U) << staircase.name;
  }
}

TEST(Drifts, EndWithALevelAndWithAStepBack) {
  Draws draws(14);
  const ChangePoints stopped = find_change_points(
      drawn({"", {{0, 0}, {40, 0.16}, {90, 0.16}, {91, 0.3}, {110, 0.3}}, 0.004}, draws));
  ASSERT_GE(stopped.changes.size(), 2U);
  EXPECT_FALSE(stopped.changes.back().goes_on);  // a step long after the drift
  EXPECT_NEAR(static_cast<double>(stopped.changes.back().after), 91, 1);
  const ChangePoints mended =
      find_change_points(drawn({"", {{0, 0}, {40, 0.16}, {41, 0}, {80, 0}}, 0.004}, draws));
  ASSERT_GE(mended.changes.size(), 2U);
  EXPECT_TRUE(mended.changes.front().is_drift);
  EXPECT_GT(mended.changes.front().back, 0U);
}

}  // namespace
}  // namespace dlscale::regression
