#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend/compute/cuda/cudnn/examination.hpp"
#include "backend/compute/cuda/cudnn/tuning.hpp"
#include "backend/compute/cuda/runtime/noise.hpp"
#include "backend/compute/cuda/transforms/library_fourier.hpp"

namespace dlscale::backend::cuda {
namespace {

/// How the fastest is chosen, without a device to time it on.

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

/// How the answers of two ways are held against each other, without a device to run them on.

const Candidates two_candidates{
    .runs = {},
    .names = {"eng1", "own"},
    .written = {{"output", nullptr, 4, DType::f32}, {"sums", nullptr, 2, DType::f32}},
    .dtype = DType::f32};

std::string objection_to(const std::vector<float>& output, const std::vector<float>& sums) {
  return objection(two_candidates, {output, sums}, {{1, -2, 3, -4}, {5, 6}}, 1);
}

TEST(Objection, IsNoneToAnswersThatRoundingTellsApart) {
  EXPECT_EQ(objection_to({1, -2, 3, -4}, {5, 6}), "");
  EXPECT_EQ(objection_to({1, -2.0001F, 3, -4}, {5, 6.001F}), "");
}

TEST(Objection, SaysWhatDiffersFromWhom) {
  EXPECT_EQ(objection_to({1, -2, 3, 4}, {5, 6}), "its output differs by 2 from that of own");
  EXPECT_EQ(objection_to({1, -2, 3, -4}, {6, 5}), "its sums differs by 0.18 from that of own");
}

TEST(Objection, IsMadeToWhatIsNotANumberAndToWhatWasNotWritten) {
  const float none = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(objection_to({1, none, 3, -4}, {5, 6}), "");
  EXPECT_NE(objection_to({0, 0, 0, 0}, {5, 6}), "");
  EXPECT_NE(objection_to({1, -2, 3, -4}, {5, 0}), "");
}

TEST(Objection, AllowsWhatEachOfTwoRightWaysMayBeOffBy) {
  EXPECT_LT(allowed_difference(DType::f32), allowed_difference(DType::tf32));
  EXPECT_LT(allowed_difference(DType::f16), allowed_difference(DType::bf16));
  EXPECT_LE(allowed_difference(DType::bf16), 0.1) << "a wrong answer is off by more";
}

TEST(Noise, IsOfDifferentNumbersWithoutAnyThatIsNone) {
  const std::vector<std::byte> bytes = noise(DType::f32, 1);
  ASSERT_EQ(bytes.size(), noise_period * sizeof(float));
  std::set<float> met;
  double sum = 0;
  for (std::size_t i = 0; i < noise_period; ++i) {
    float value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof(value), sizeof(value));
    ASSERT_GE(value, -0.5F);
    ASSERT_LE(value, 0.5F);
    met.insert(value);
    sum += double{value};
  }
  EXPECT_GT(met.size(), noise_period * 9 / 10);
  EXPECT_NEAR(sum / noise_period, 0, 0.01);
  EXPECT_NE(noise(DType::f32, 2), bytes);
}

TEST(Noise, IsRoundedToThePrecision) {
  EXPECT_EQ(noise(DType::bf16, 1).size(), noise_period * 2);
  EXPECT_NE(noise(DType::bf16, 1), noise(DType::f16, 1));
  EXPECT_NE(noise(DType::tf32, 1), noise(DType::f32, 1));
}

/// Rows, images and planes are no multiples of it.
TEST(Noise, ComesAgainAfterAPrimeNumberOfElements) {
  for (std::size_t i = 2; i * i <= noise_period; ++i) ASSERT_NE(noise_period % i, 0U) << i;
}

TEST(Stretches, AreAllOfASmallTensor) {
  for (const std::size_t elements : {1U, 1000U, 65536U}) {
    const auto all = sampled_ranges(elements);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].first, 0U);
    EXPECT_EQ(all[0].count, elements);
  }
}

TEST(Stretches, GoFromTheFirstElementToTheLastWithoutMeeting) {
  for (const std::size_t elements : {65537UL, 100000UL, 822083584UL}) {
    const auto all = sampled_ranges(elements);
    EXPECT_EQ(all.front().first, 0U);
    EXPECT_EQ(all.back().first + all.back().count, elements);
    for (std::size_t i = 1; i < all.size(); ++i) {
      EXPECT_GE(all[i].first, all[i - 1].first + all[i - 1].count) << elements;
    }
  }
}

}  // namespace
}  // namespace dlscale::backend::cuda
