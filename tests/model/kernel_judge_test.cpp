// Which measured times a judgement of kernel models counts.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/network/convolution_shape.hpp"
#include "model/roofline/fit/kernel_fit.hpp"
#include "model/roofline/fit/split.hpp"

namespace dlscale::model {
namespace {

KernelSample sample(int channels, int size, int filter) {
  const auto text = [](int number) { return std::to_string(number); };
  const std::string key = "convolution c" + text(channels) + " h" + text(size) + " w" + text(size) +
                          " k" + text(channels) + " r" + text(filter) + " s" + text(filter) +
                          " stride1 pad" + text(filter / 2) + " groups1";
  const KernelCase what =
      make_case({.backend = "native", .method = lowering::Method::direct}, key, 4, 16);
  return {what, direct_flops(what.shape) / FlopsPerSecond(5e10), {}};
}

std::vector<KernelSample> of_three_by_three() {
  std::vector<KernelSample> all;
  for (const int channels : {16, 32, 48, 64, 96, 128, 256, 512}) {
    for (const int size : {7, 14, 28, 56}) all.push_back(sample(channels, size, 3));
  }
  return all;
}

TEST(KernelJudgement, CountsNoTimeThatTheFitDoesNotTell) {
  // Direct convolutions of 1 x 1 filters run other kernels than those of 3 x 3; all of the former
  // are judged, so that the fit has seen none.
  auto all = of_three_by_three();
  const KernelJudgement alone = judge_kernels(all, {});
  EXPECT_TRUE(alone.not_told.empty());
  int pointwise = 0;
  for (int channels = 16; channels <= 512; channels += 16) {
    const KernelSample found = sample(channels, 28, 1);
    if (half_of(found.what.kernel) != Half::judging) continue;
    ++pointwise;
    all.push_back(found);
  }
  ASSERT_GT(pointwise, 0);
  const KernelJudgement judgement = judge_kernels(all, {});
  EXPECT_EQ(judgement.not_told, (std::map<std::string, int>{{"native direct", pointwise}}));
  EXPECT_EQ(judgement.samples.size(), alone.samples.size());
  EXPECT_EQ(judgement.algorithms.back().samples, alone.algorithms.back().samples);
  EXPECT_EQ(judgement.algorithms.back().p90, alone.algorithms.back().p90);
}

TEST(KernelJudgement, IsOfEveryShapeOnceOverBothHalves) {
  const auto all = of_three_by_three();
  EXPECT_TRUE(judge_kernels(all, {}).algorithms_of_both_halves.empty());
  const KernelJudgement judgement = judge_kernels(all, {}, JudgedHalves::both);
  ASSERT_EQ(judgement.algorithms_of_both_halves.size(), 2);
  const AlgorithmErrors& both = judgement.algorithms_of_both_halves.back();
  EXPECT_EQ(both.algorithm, "all");
  EXPECT_EQ(both.kernels, 8 * 4);
  EXPECT_EQ(both.samples, 8 * 4);
  EXPECT_GT(both.samples, judgement.algorithms.back().samples);
  EXPECT_LT(both.median, 0.01);
}

}  // namespace
}  // namespace dlscale::model
