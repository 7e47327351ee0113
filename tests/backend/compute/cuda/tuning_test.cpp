#include "backend/compute/cuda/cudnn/tuning.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/compute/cuda/transforms/library_fourier.hpp"

/// How the fastest is chosen, without a device to time it on.
namespace dlscale::backend::cuda {
namespace {

using Times = std::vector<std::vector<double>>;  ///< of each candidate, one after the other

/// Candidates with such times, at a glance and with care; a time of 0 stands for one that cannot
/// run. The last time counts from then on.
class Race {
 public:
  Race(Times glances, Times careful)
      : times_{std::move(glances), std::move(careful)}, asked_{Counts(count()), Counts(count())} {}

  /// Nothing if there is none.
  std::optional<std::size_t> fastest(const std::vector<std::size_t>& refused = {}) {
    const auto time = [&](std::size_t i, Care care) -> std::optional<Seconds> {
      const auto kind = static_cast<std::size_t>(care);
      const std::vector<double>& all = times_.at(kind).at(i);
      const double taken = all.at(std::min(asked_.at(kind).at(i)++, all.size() - 1));
      return taken > 0 ? std::optional(Seconds(taken)) : std::nullopt;
    };
    const auto approve = [&](std::size_t i) { return !std::ranges::count(refused, i); };
    const auto best = cuda::fastest(count(), time, approve);
    if (!best) return std::nullopt;
    EXPECT_EQ(best->time.si(), *std::ranges::min_element(times_[1].at(best->index)));
    return best->index;
  }
  /// How often candidate `i` was timed.
  [[nodiscard]] std::size_t asked(std::size_t i, Care care) const {
    return asked_.at(static_cast<std::size_t>(care)).at(i);
  }

 private:
  using Counts = std::vector<std::size_t>;
  [[nodiscard]] std::size_t count() const { return times_[0].size(); }

  std::array<Times, 2> times_;
  std::array<Counts, 2> asked_;
};

/// The same times at a glance and with care.
std::optional<std::size_t> fastest_of(const Times& times) {
  return Race(times, times).fastest();
}

TEST(Fastest, IsWhoeverTakesTheLeastTime) {
  EXPECT_EQ(fastest_of({{3, 3}, {2, 2}, {4, 4}}), 1U);
  EXPECT_EQ(fastest_of({{5, 5}}), 0U);
  EXPECT_EQ(fastest_of({}), std::nullopt);
}

TEST(Fastest, IsTheFirstOfEqualOnes) {
  EXPECT_EQ(fastest_of({{3, 3}, {2, 2}, {2, 2}}), 1U);
}

TEST(Fastest, DoesNotPunishTheFirstForTheClockItFinds) {
  EXPECT_EQ(fastest_of({{9, 2}, {3, 3}}), 0U);
  EXPECT_EQ(fastest_of({{9, 4}, {3, 9}}), 1U);
  EXPECT_EQ(Race({{9, 2}, {3}}, {{2}, {3}}).fastest(), 0U);
}

TEST(Fastest, LeavesOutWhoeverCannotRun) {
  EXPECT_EQ(fastest_of({{0}, {2, 2}}), 1U);  // is not asked again
  EXPECT_EQ(fastest_of({{1, 0}, {2, 2}}), 1U);
  EXPECT_EQ(fastest_of({{0}, {0}}), std::nullopt);
}

TEST(Fastest, GivesSlowOnesNoMoreThanAGlance) {
  Race race({{10}, {11}, {80}, {15}, {15.1}}, {{10}, {9}, {80}, {15}, {15.1}});
  EXPECT_EQ(race.fastest(), 1U);
  for (const std::size_t slow : {2U, 4U}) {
    EXPECT_EQ(race.asked(slow, Care::glance), 1U);
    EXPECT_EQ(race.asked(slow, Care::median), 0U);
  }
  for (const std::size_t near : {0U, 1U, 3U}) EXPECT_EQ(race.asked(near, Care::median), 2U);
}

TEST(Fastest, IsTheNextOneWhereTheFastestIsNotApproved) {
  const Times times{{10}, {11}, {80}, {90}};
  EXPECT_EQ(Race(times, times).fastest({0}), 1U);
  EXPECT_EQ(Race(times, times).fastest({0, 1}), 2U) << "out of the question before";
  EXPECT_EQ(Race(times, times).fastest({0, 1, 2, 3}), std::nullopt);
}

TEST(Fastest, IsASlowOneWhereTheOthersFailLater) {
  EXPECT_EQ(Race({{10}, {80}}, {{0}, {80}}).fastest(), 1U);
}

TEST(HeadStart, GrowsWithWhatTheHostHasToEnqueue) {
  EXPECT_NEAR(head_start(Seconds(0)).si(), 50e-6, 1e-9);
  EXPECT_NEAR(head_start(Seconds(1e-3)).si(), 2.05e-3, 1e-9);
  EXPECT_NEAR(head_start(Seconds(5)).si(), 20e-3, 1e-9);
}

TEST(FourierLibrary, SaysItsVersion) {
  const std::string version = transforms::fourier_library_version();
  EXPECT_EQ(std::count(version.begin(), version.end(), '.'), 2) << version;
  EXPECT_GE(std::stoi(version), 10) << version;
}

}  // namespace
}  // namespace dlscale::backend::cuda
