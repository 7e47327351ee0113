#include "backend/compute/cuda/tuning.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "backend/compute/cuda/transforms/library_fourier.hpp"

/// How the fastest is chosen, without a device to time it on.
namespace dlscale::backend::cuda {
namespace {

using Times = std::vector<std::vector<double>>;  ///< of each candidate, one after the other

/// A time of 0 stands for a candidate that cannot run.
std::optional<std::size_t> fastest_of(const Times& times) {
  std::vector<std::size_t> asked(times.size());
  const auto best = fastest(times.size(), [&](std::size_t i) -> std::optional<Seconds> {
    const double time = times[i].at(asked[i]++);
    return time > 0 ? std::optional(Seconds(time)) : std::nullopt;
  });
  if (!best) return std::nullopt;
  EXPECT_EQ(best->time.si(),
            *std::min_element(times[best->index].begin(), times[best->index].end()));
  return best->index;
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
}

TEST(Fastest, LeavesOutWhoeverCannotRun) {
  EXPECT_EQ(fastest_of({{0}, {2, 2}}), 1U);  // is not asked again
  EXPECT_EQ(fastest_of({{1, 0}, {2, 2}}), 1U);
  EXPECT_EQ(fastest_of({{0}, {0}}), std::nullopt);
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
