#include "model/roofline/sheet/domain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/cluster/device_file.hpp"
#include "core/network/network.hpp"
#include "model/published/scaling/fit/interval.hpp"
#include "tests/core/support.hpp"

namespace dlscale::model::sheet {
namespace {

/// Clauses on ResNet-50 or another network on a GPU, joined.
std::string clauses(const std::string& gpu, const std::string& network = "resnet50",
                    DType dtype = DType::f32, int batch = 64) {
  dlscale::Run run;
  run.dtype = dtype;
  run.batch = batch;
  const Device device = nominal_device(load_device_sheet(gpu), Seconds(3.8e-6));
  return fmt::format("{}",
                     fmt::join(beyond(nominal_domain(), device, load_network(network), run), "; "));
}

TEST(SheetDomain, HoldsWhatWasFitted) {
  EXPECT_EQ(clauses("v100_sxm2_16gb"), "");
  EXPECT_EQ(clauses("k80"), "");
  EXPECT_EQ(clauses("h100_sxm5_80gb", "resnet50", DType::bf16, 256), "");
  EXPECT_EQ(clauses("a100_sxm4_80gb", "bert_large", DType::f16, 32), "");
  EXPECT_EQ(clauses("rtx_6000_ada", "se_resnext101_32x4d", DType::tf32), "");
}

TEST(SheetDomain, NamesWhatNobodyFitted) {
  test::expect_contains(clauses("mi300x"), "nothing by AMD was fitted");
  test::expect_contains(clauses("mi300x"), "its peak in f32 is more");
  test::expect_contains(clauses("c1060"), "the GPU is older than any fitted (2008 against 2014)");
  test::expect_contains(clauses("b200_sxm"), "the GPU is newer than any fitted");
  test::expect_contains(clauses("b200_sxm"), "its memory bandwidth is more");
  EXPECT_EQ(clauses("a100_sxm4_64gb"),
            "its base clock is unknown and taken as 0.82 of boost_clock");
  EXPECT_EQ(clauses("v100_sxm2_16gb", "mobilenet_v2"), "no training with depthwise was fitted");
  test::expect_contains(clauses("h100_sxm5_80gb", "mixtral_8x7b", DType::bf16, 4),
                        "no training with expert_linear, rms_norm, rope, route");
  EXPECT_EQ(clauses("v100_sxm2_16gb", "resnet50", DType::f32, 1),
            "its number of images a GPU is less than that of any fitted (1 against 16)");
  // A quarter beyond the range counts as within.
  EXPECT_EQ(clauses("v100_sxm2_16gb", "resnet50", DType::f32, 1600), "");
}

TEST(SheetDomain, StretchesRangesOnALogarithmicScale) {
  const TimeRange range = stretched({0.81, 1.44});
  EXPECT_DOUBLE_EQ(std::log(range.low), scaling::outside_stretch * std::log(0.81));
  EXPECT_DOUBLE_EQ(std::log(range.high), scaling::outside_stretch * std::log(1.44));
  EXPECT_LT(range.low, 0.81);
}

}  // namespace
}  // namespace dlscale::model::sheet
