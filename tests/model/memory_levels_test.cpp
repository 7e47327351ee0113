#include "model/roofline/kernels/measured_roofline.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

constexpr Bytes cache(8e6);  ///< the last one of the machine below

double plateau(double set) {
  return set <= 32e3 ? 200e9 : set <= 8e6 ? 80e9 : set <= 9e6 ? 40e9 : 10e9;
}

/// Working sets of 1 kB to 256 MB by doublings; a point amid the fall at 8.2 MB, then memory.
std::vector<MeasuredBandwidth> sweep() {
  std::vector<MeasuredBandwidth> measured;
  for (double set = 1e3; set < 3e8; set *= 2) {
    measured.push_back({Bytes(set), BytesPerSecond(plateau(set)), "copy"});
    measured.push_back({Bytes(set), BytesPerSecond(0.8 * plateau(set)), "triad"});
  }
  return measured;
}

std::vector<double> bandwidths(const std::vector<MemoryLevel>& levels) {
  std::vector<double> all;
  for (const MemoryLevel& level : levels) all.push_back(level.bandwidth.si());
  return all;
}

const std::vector<double> of_sweep{200e9, 80e9, 10e9};

TEST(Levels, AreThePlateausOfTheBandwidth) {
  for (const std::optional<Bytes> last : {std::optional<Bytes>(cache), std::optional<Bytes>()}) {
    const auto levels = levels_of(sweep(), last);
    ASSERT_EQ(bandwidths(levels), of_sweep);
    EXPECT_EQ(levels[0].capacity.si(), 32e3);
    EXPECT_NEAR(levels[1].capacity.si(), 8e6, 4e6);
    EXPECT_EQ(levels[2].capacity.si(), 262144e3);
    EXPECT_EQ(levels[2].name, last ? memory_name : farthest_name);
  }
  EXPECT_THROW((void)levels_of({}), ConfigError);
}

TEST(Levels, AreNotSetByOneSetThatWasFastByChance) {
  const auto measured = sweep();
  for (std::size_t i = 0; i < measured.size(); ++i) {
    for (const double chance : {1.15, 1.5}) {
      auto noisy = measured;
      noisy[i].bandwidth = chance * noisy[i].bandwidth;
      for (const std::optional<Bytes> last :
           {std::optional<Bytes>(cache), std::optional<Bytes>()}) {
        EXPECT_EQ(bandwidths(levels_of(noisy, last)), of_sweep)
            << measured[i].pass << ' ' << measured[i].working_set.si() << ' ' << chance;
      }
    }
  }
}

TEST(Levels, AreNotSetByTheStartOfShortPassesNorByASlowSet) {
  auto measured = sweep();
  for (const std::size_t i : {0U, 1U, 8U, 9U, 22U, 23U}) {
    measured[i].bandwidth = 0.5 * measured[i].bandwidth;
  }
  EXPECT_EQ(bandwidths(levels_of(measured, cache)), of_sweep);
}

/// As a share of larger sets still lies in the cache, the fall is no step: its upper end is not
/// memory's bandwidth.
TEST(Levels, TakeMemoryFromSetsThatTheLastCacheCannotHelp) {
  std::vector<MeasuredBandwidth> measured;
  for (double set = 1e6; set < 3e8; set *= 2) {
    const double fall = set <= 8e6 ? 80e9 : set <= 16e6 ? 13e9 : 10e9;
    measured.push_back({Bytes(set), BytesPerSecond(fall), "copy"});
  }
  measured.push_back({Bytes(24e6), BytesPerSecond(12.5e9), "copy"});
  const auto levels = levels_of(measured, cache);
  EXPECT_EQ(bandwidths(levels), (std::vector{80e9, 10e9}));
  EXPECT_EQ(levels.back().name, memory_name);
  EXPECT_EQ(levels_of(measured, Bytes(1e9)).back().name, farthest_name);
}

TEST(Levels, HaveTheSpeedOfTheBestKindOfPass) {
  std::vector<MeasuredBandwidth> measured;
  for (double set = 1e3; set < 1e6; set *= 2) {  // at other sets, as a triad has a third array
    measured.push_back({Bytes(2 * set), BytesPerSecond(90e9), "copy"});
    measured.push_back({Bytes(3 * set), BytesPerSecond(100e9), "triad"});
    measured.push_back({Bytes(3 * set), BytesPerSecond(70e9), "triad"});  // by other code
  }
  measured.push_back({Bytes(4e3), BytesPerSecond(300e9), "scale"});
  EXPECT_EQ(bandwidths(levels_of(measured)), (std::vector{100e9}));
}

TEST(Levels, EndWithMemoryHoweverFewPointsItHas) {
  const std::vector<MeasuredBandwidth> measured{{Bytes(1e5), BytesPerSecond(2e11)},
                                                {Bytes(1e6), BytesPerSecond(1.9e11)},
                                                {Bytes(2e7), BytesPerSecond(6e10)},
                                                {Bytes(3e8), BytesPerSecond(3e10)},
                                                {Bytes(4e8), BytesPerSecond(2.9e10)}};
  const auto levels = levels_of(measured);
  EXPECT_EQ(bandwidths(levels), (std::vector{1.9e11, 2.9e10}));
  EXPECT_EQ(levels.back().capacity.si(), 4e8);
  const auto one_set = levels_of({{Bytes(4e8), BytesPerSecond(3e10)}}, Bytes(1e7));
  EXPECT_EQ(bandwidths(one_set), (std::vector{3e10}));
}

/// Whatever was measured: HierarchicalRoofline wants nearer levels smaller and faster.
TEST(Levels, StandInOrder) {
  std::vector<MeasuredBandwidth> measured;
  for (double set = 1e3; set < 1e8; set *= 2) {
    const bool slow = set < 128e3;
    measured.push_back({Bytes(set), BytesPerSecond(slow ? 20e9 : 50e9), "copy"});
  }
  EXPECT_EQ(bandwidths(levels_of(measured, Bytes(1e6))), (std::vector{50e9}));
}

}  // namespace
}  // namespace dlscale::model
