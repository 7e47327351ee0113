#include "model/roofline/kernels/ceilings.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

HierarchicalRoofline three_levels() {
  return {FlopsPerSecond(1e11),
          {{"L1", Bytes(32e3), BytesPerSecond(4e11)},
           {"L2", Bytes(1e6), BytesPerSecond(1e11)},
           {"DRAM", Bytes(1e10), BytesPerSecond(1e10)}},
          Seconds(1e-6)};
}

TEST(HierarchicalRoofline, IsBoundByTheSlowestLevel) {
  const HierarchicalRoofline roofline = three_levels();
  const std::vector<Bytes> traffic{Bytes(8e9), Bytes(1e9), Bytes(5e8)};
  EXPECT_DOUBLE_EQ(roofline.time(Flops(1e9), traffic).si(), 0.05);
  EXPECT_DOUBLE_EQ(roofline.time(Flops(1e10), traffic).si(), 0.1);
}

TEST(HierarchicalRoofline, OfTheCacheAwareKindHasARoofALevel) {
  const HierarchicalRoofline roofline = three_levels();
  EXPECT_DOUBLE_EQ(roofline.attainable(2, FlopsPerByte(0.5)).si(), 5e9);
  EXPECT_DOUBLE_EQ(roofline.attainable(1, FlopsPerByte(0.5)).si(), 5e10);
  EXPECT_DOUBLE_EQ(roofline.attainable(0, FlopsPerByte(0.5)).si(), 1e11);
}

TEST(HierarchicalRoofline, InTimeAddsTheLaunch) {
  const HierarchicalRoofline roofline = three_levels();
  EXPECT_EQ(roofline.level_of(Bytes(32e3)), 0);
  EXPECT_EQ(roofline.level_of(Bytes(33e3)), 1);
  EXPECT_EQ(roofline.level_of(Bytes(1e12)), 2);
  EXPECT_DOUBLE_EQ(roofline.time_based({Flops(1e3), Bytes(1e6)}, Bytes(1e6)).si(), 1.1e-5);
  EXPECT_DOUBLE_EQ(roofline.least_flops().si(), 1e5);
  EXPECT_DOUBLE_EQ(roofline.least_bytes(2).si(), 1e4);
}

TEST(HierarchicalRoofline, GivesSmallKernelsTheSpeedOfTheStartUpModel) {
  const HierarchicalRoofline roofline = three_levels();
  for (const double V : {1e2, 1e5, 1e8}) {
    const Seconds time = roofline.time_based({Flops(V), Bytes(0)}, Bytes(1));
    EXPECT_DOUBLE_EQ(V / time.si(), V / (1e-6 + V / 1e11));  // MODEL 5.5
  }
}

TEST(HierarchicalRoofline, TellsFromWhereDataMayHaveCome) {
  const HierarchicalRoofline roofline = three_levels();
  const FlopsPerByte intensity(0.1);  // roofs of 40, 10 and 1 GFLOP/s
  EXPECT_EQ(roofline.farthest_source(FlopsPerSecond(1e9), intensity), 2);
  EXPECT_EQ(roofline.farthest_source(FlopsPerSecond(1.1e9), intensity), 1);
  EXPECT_EQ(roofline.farthest_source(FlopsPerSecond(20e9), intensity), 0);
  EXPECT_EQ(roofline.farthest_source(FlopsPerSecond(50e9), intensity), 0);
}

TEST(HierarchicalRoofline, HasTheEmpiricalPointsOfCheckC111) {
  // V100 at 1380 MHz in f64: 80 multiprocessors of 32 multiply-adds a cycle. Published beside a
  // bandwidth of 869 GB/s: 109 GFLOP/s at 0.125 operations a byte, 968 at 1.125, 6600 at 8.125.
  const HierarchicalRoofline v100(FlopsPerSecond(80 * 32 * 2 * 1.38e9),
                                  {{"memory", Bytes(16e9), BytesPerSecond(869e9)}});
  EXPECT_NEAR(v100.attainable(0, FlopsPerByte(0.125)).si(), 109e9, 0.01 * 109e9);
  EXPECT_NEAR(v100.attainable(0, FlopsPerByte(1.125)).si(), 968e9, 0.02 * 968e9);
  EXPECT_NEAR(v100.attainable(0, FlopsPerByte(8.125)).si(), 6600e9, 0.08 * 6600e9);
}

TEST(HierarchicalRoofline, SortsTheCeilingsBelowItsPeak) {
  const MemoryLevel level{"memory", Bytes(1e9), BytesPerSecond(1e10)};
  const FlopsPerSecond peak(1e11);
  const HierarchicalRoofline roofline(
      peak, {level}, {}, {{"narrow", FlopsPerSecond(2e10)}, {"wide", FlopsPerSecond(5e10)}});
  ASSERT_EQ(roofline.ceilings().size(), 2);
  EXPECT_EQ(roofline.ceilings().front().name, "wide");
  EXPECT_THROW(HierarchicalRoofline(peak, {level}, {}, {{"above", FlopsPerSecond(2e11)}}),
               ConfigError);
}

TEST(HierarchicalRoofline, RefusesLevelsOutOfOrder) {
  const MemoryLevel near{"near", Bytes(1e3), BytesPerSecond(1e9)};
  const MemoryLevel far{"far", Bytes(1e6), BytesPerSecond(2e9)};
  const FlopsPerSecond peak(1e9);
  EXPECT_THROW(HierarchicalRoofline(peak, {}), ConfigError);
  EXPECT_THROW(HierarchicalRoofline(peak, {near, far}), ConfigError);
  EXPECT_THROW(HierarchicalRoofline(peak, {far, near}), ConfigError);
  EXPECT_THROW(HierarchicalRoofline(FlopsPerSecond(0), {near}), ConfigError);
  EXPECT_THROW(HierarchicalRoofline(FlopsPerSecond(std::nan("")), {near}), ConfigError);
}

}  // namespace
}  // namespace dlscale::model
