#include "report/comparison/ratio.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "core/base/statistics.hpp"
#include "tests/report/look_at.hpp"

namespace dlscale::report {
namespace {

Repeats noisy(int repeats, int samples, double centre, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> noise(0, 0.02);
  Repeats result;
  for (int r = 0; r < repeats; ++r) {
    std::vector<double> times;
    times.reserve(static_cast<std::size_t>(samples));
    for (int i = 0; i < samples; ++i) times.push_back(centre * std::exp(noise(generator)));
    result.push_back(times);
  }
  return result;
}

// Critical values of Mann-Whitney's U, two-sided 5 %, from the usual tables (Mann & Whitney 1947).
TEST(MannWhitney, AgreesWithPublishedCriticalValues) {
  EXPECT_EQ(mann_whitney_trim(4, 4), 0);
  EXPECT_EQ(mann_whitney_trim(5, 5), 2);
  EXPECT_EQ(mann_whitney_trim(5, 8), 6);
  EXPECT_EQ(mann_whitney_trim(8, 8), 13);
  EXPECT_EQ(mann_whitney_trim(10, 10), 23);
  EXPECT_EQ(mann_whitney_trim(20, 20), 127);
}

/// The interval by all ratios of runs in their order.
TEST(RatioOfMedians, IsThatOfAllRatiosInTheirOrder) {
  for (const auto& [n, m] : {std::pair{5, 8}, std::pair{20, 20}, std::pair{7, 60}}) {
    Repeats a = noisy(n, 1, 1.0, 3);
    Repeats b = noisy(m, 1, 1.05, 4);
    a[1] = a[0];
    b[2] = b[0] = a[0];
    std::vector<double> all;
    for (const auto& of_a : a) {
      for (const auto& of_b : b) all.push_back(std::log(of_b[0]) - std::log(of_a[0]));
    }
    std::ranges::sort(all);
    const auto trim = static_cast<std::size_t>(mann_whitney_trim(n, m));
    const Ratio ratio = ratio_of_medians(a, b);
    EXPECT_EQ(ratio.low, std::exp(all[trim]));
    EXPECT_EQ(ratio.high, std::exp(all[all.size() - 1 - trim]));
    EXPECT_EQ(ratio.value, std::exp(median(all)));
  }
}

TEST(RatioOfMedians, TakesManyRunsWithoutKeepingAllTheirRatios) {
  const Ratio ratio = ratio_of_medians(noisy(20'000, 1, 1.0, 5), noisy(20'000, 1, 1.1, 6));
  EXPECT_NEAR(ratio.value, 1.1, 0.001);
  EXPECT_GT(ratio.low, 1.098);
  EXPECT_LT(ratio.high, 1.102);
}

/// P(U = 0), P(U = 1), …, of probabilities, which do not overflow: the largest of the n + m values
/// is one of the m with probability m / (n + m), and then U counts all n below it.
std::vector<double> exact_shares(int n, int m) {
  std::vector<std::vector<double>> shares(n + 1, std::vector<double>{1});
  for (int j = 1; j <= m; ++j) {
    for (int i = 1; i <= n; ++i) {
      const std::vector<double> without_second = shares[i];  // of i and j - 1 values
      std::vector<double> both(static_cast<std::size_t>(i) * j + 1, 0);
      const double second = static_cast<double>(j) / (i + j);
      for (std::size_t u = 0; u < without_second.size(); ++u) {
        both[u + i] += second * without_second[u];
      }
      for (std::size_t u = 0; u < shares[i - 1].size(); ++u) {
        both[u] += (1 - second) * shares[i - 1][u];
      }
      shares[i] = std::move(both);
    }
  }
  return shares[n];
}

TEST(MannWhitney, IsApproximatedWhereCountingTakesTooLong) {
  for (const auto& [n, m] :
       {std::pair{51, 50}, std::pair{50, 51}, std::pair{5, 501}, std::pair{120, 30}}) {
    const std::vector<double> shares = exact_shares(n, m);
    const int trim = mann_whitney_trim(n, m);
    ASSERT_GT(trim, 0);
    const double below = std::accumulate(shares.begin(), shares.begin() + trim + 1, 0.0);
    EXPECT_NEAR(below, 0.025, 0.0015) << n << " and " << m;
  }
}

TEST(MannWhitney, KnowsNoNumberOfRepeatsTooMany) {
  const int trim = mann_whitney_trim(600, 600);  // counts of so many overflow a double
  EXPECT_GT(trim, 160'000);
  EXPECT_LT(trim, 180'000);
  const Ratio ratio = ratio_of_medians(noisy(520, 1, 1.0, 1), noisy(520, 1, 1.1, 2), 0.01);
  EXPECT_NEAR(ratio.value, 1.1, 0.01);
  EXPECT_LT(ratio.low, ratio.value);
  EXPECT_GT(ratio.high, ratio.value);
  EXPECT_LT(ratio.p_larger, 1e-6);
  EXPECT_GT(ratio.p_smaller, 1 - 1e-6);
}

/// How many intervals hold the true ratio of 1.1, of so many trials. `draw` makes the repeats of a
/// side from a centre and a seed.
template <class Draw>
int covered_by(unsigned trials, Draw draw) {
  int covered = 0;
  for (unsigned seed = 0; seed < trials; ++seed) {
    const Ratio ratio = ratio_of_medians(draw(1.0, 2 * seed), draw(1.1, 2 * seed + 1));
    covered += ratio.low <= 1.1 && 1.1 <= ratio.high ? 1 : 0;
  }
  return covered;
}

TEST(Ratio, FromRepeatsCoversTheTruthNineteenTimesInTwenty) {
  const int covered = covered_by(
      400, [](double centre, unsigned seed) { return noisy(6, 1, centre, seed); });
  EXPECT_GE(covered, 372);  // exact coverage is 95.9 %: fewer has probability < 1 in 500
}

/// Launches that differ by 2 %, each of six samples that hardly do.
Repeats apart(int launches, double centre, unsigned seed) {
  Repeats result = noisy(launches, 1, centre, seed);
  for (std::vector<double>& samples : result) {
    const double first = samples.front();
    for (int i = 1; i < 6; ++i) samples.push_back(first * (1 + 1e-4 * i));
  }
  return result;
}

TEST(Ratio, FromFewLaunchesCoversTheTruthNineteenTimesInTwenty) {
  for (const int launches : {2, 3, 4}) {
    const int covered = covered_by(400, [launches](double centre, unsigned seed) {
      return apart(launches, centre, seed);
    });
    EXPECT_GE(covered, 366) << launches;  // of 95 % fewer has probability < 1 in 500
  }
}

TEST(Ratio, FromSamplesCoversTheTruthMostOfTheTime) {
  const int covered = covered_by(
      60, [](double centre, unsigned seed) { return noisy(1, 30, centre, seed); });
  EXPECT_GE(covered, 48);
}

TEST(Ratio, KnowsPOfFewLaunchesAsItsInterval) {
  for (const double centre : {0.8, 0.95, 1.0, 1.05, 1.1, 1.3}) {
    const Ratio ratio = ratio_of_medians(apart(3, 1, 3), apart(4, centre, 4), 0.03);
    EXPECT_EQ(ratio.low > 1.03, ratio.p_larger < 0.025) << centre;
    EXPECT_EQ(ratio.high < 1 / 1.03, ratio.p_smaller < 0.025) << centre;
  }
}

TEST(Ratio, IsWiderAmongMoreComparisons) {
  const Repeats a = noisy(5, 1, 1, 3);
  const Repeats b = noisy(5, 1, 1.1, 4);
  const Ratio one = ratio_of_medians(a, b);
  const Ratio among_six = ratio_of_medians(a, b, 0, {}, 6);
  EXPECT_LT(std::log(one.high / one.low), std::log(among_six.high / among_six.low));
  EXPECT_EQ(one.method, among_six.method);
  // Even the rarest of 252 orders of five and five is too likely by chance.
  EXPECT_EQ(ratio_of_medians(a, b, 0, {}, 7).method, "t interval of 5 and 5 launches");
}

TEST(Ratio, IsInvertedWhenTheSidesAreSwapped) {
  for (const int repeats : {1, 3, 5}) {
    const Repeats a = noisy(repeats, 20, 1.0, 1);
    const Repeats b = noisy(repeats, 20, 1.3, 2);
    const Ratio forward = ratio_of_medians(a, b);
    const Ratio backward = ratio_of_medians(b, a);
    EXPECT_NEAR(forward.value * backward.value, 1, 1e-12) << repeats;
    EXPECT_NEAR(forward.low * backward.high, 1, 1e-9) << repeats;
    EXPECT_NEAR(forward.high * backward.low, 1, 1e-9) << repeats;
  }
}

TEST(Ratio, DoesNotChangeWithTheUnit) {
  const Ratio seconds = ratio_of_medians(noisy(5, 3, 1.0, 7), noisy(5, 3, 1.2, 8));
  const Ratio milliseconds = ratio_of_medians(noisy(5, 3, 1e3, 7), noisy(5, 3, 1.2e3, 8));
  EXPECT_NEAR(seconds.low, milliseconds.low, 1e-12);
  EXPECT_NEAR(seconds.high, milliseconds.high, 1e-12);
}

TEST(Ratio, OfTheSameSamplesIsTheSameEveryTime) {
  const Repeats a = noisy(2, 25, 1.0, 3);
  const Repeats b = noisy(2, 25, 1.05, 4);
  const Ratio first = ratio_of_medians(a, b);
  const Ratio second = ratio_of_medians(a, b);
  EXPECT_EQ(first.low, second.low);
  EXPECT_EQ(first.high, second.high);
}

TEST(Ratio, SaysHowTheIntervalWasFound) {
  EXPECT_EQ(ratio_of_medians(noisy(5, 3, 1, 1), noisy(6, 3, 1, 2)).method, "5 and 6 repeats");
  EXPECT_EQ(ratio_of_medians(noisy(5, 3, 1, 1), noisy(2, 6, 1, 2)).method,
            "t interval of 5 and 2 launches");
  const std::string method = ratio_of_medians(noisy(5, 3, 1, 1), noisy(1, 12, 1, 2)).method;
  EXPECT_TRUE(contains(method, "bootstrap of 15 and 12 samples")) << method;
}

TEST(Ratio, OfTooFewSamplesHasNoInterval) {
  const Ratio ratio = ratio_of_medians({{1.0}}, {{2.0, 2.0}});
  EXPECT_DOUBLE_EQ(ratio.value, 2.0);
  EXPECT_TRUE(ratio.method.empty());
}

TEST(Ratio, IsAsWideAsTheDigitsOfItsSamplesAllowHoweverManyThereAre) {
  const regression::LogRounding rounding = regression::log_rounding_of_ratio({1, 0.5}, {2, 0.5});
  for (const Repeats& a : {Repeats(1, {1, 1, 1, 1, 1}), Repeats(7, {1}), Repeats(40, {1})}) {
    Repeats b = a;
    for (auto& samples : b) {
      for (double& sample : samples) sample = 2;
    }
    const Ratio ratio = ratio_of_medians(a, b, 0.02, rounding);
    EXPECT_DOUBLE_EQ(ratio.value, 2);
    EXPECT_NEAR(ratio.low, 1, 1e-12);   // 1.5 / 1.5
    EXPECT_NEAR(ratio.high, 5, 1e-12);  // 2.5 / 0.5
    EXPECT_GT(ratio.p_larger, 0.5);
  }
}

TEST(Ratio, IsWiderWhenLaunchesDifferMoreThanTheirSamples) {
  Repeats steady = noisy(3, 20, 1.0, 1);
  Repeats jumpy;
  for (const double centre : {0.9, 1.0, 1.1}) jumpy.push_back(noisy(1, 20, centre, 2).front());
  const Ratio calm = ratio_of_medians(steady, noisy(3, 20, 1.0, 9));
  const Ratio wild = ratio_of_medians(steady, jumpy);
  EXPECT_GT(std::log(wild.high / wild.low), 3 * std::log(calm.high / calm.low));
}

}  // namespace
}  // namespace dlscale::report
