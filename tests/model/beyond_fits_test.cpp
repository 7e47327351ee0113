#include "model/roofline/beyond_fits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include "model/roofline/kernel_fit.hpp"

namespace dlscale::model {
namespace {

std::string key(int c, int hw) {
  const std::string side = std::to_string(hw);
  const std::string channels = std::to_string(c);
  return "convolution c" + channels + " h" + side + " w" + side + " k" + channels +
         " r3 s3 stride1 pad1 groups1";
}

KernelCase case_of(lowering::Method method, int c, int hw) {
  return make_case({.backend = "native", .method = method}, key(c, hw), 4, 16);
}

/// Of all shapes, in a time that follows from the case.
std::vector<KernelSample> samples(lowering::Method method, const std::vector<int>& channels,
                                  const std::function<double(const KernelCase&)>& time) {
  std::vector<KernelSample> all;
  for (const int c : channels) {
    for (const int hw : {14, 20, 28, 40, 56}) {
      const KernelCase what = case_of(method, c, hw);
      all.push_back({what, Seconds(time(what)), {}});
    }
  }
  return all;
}

/// Faster the more there is to do, which no sum of terms is: s per operation falls by a factor of
/// 2^0.15 an octave.
double drifting(const KernelCase& what) {
  const double flops = what.work.flops().si();
  return flops / 1e11 * std::pow(flops / 1e9, -0.15);
}

KernelModels fit(const std::vector<KernelSample>& all) {
  std::vector<std::string> skipped;
  return fit_kernels(all, skipped);
}

TEST(OctavesBeyond, AreThoseOfTheFarthestSize) {
  CaseSizes least;
  CaseSizes greatest;
  least.values.fill(8);
  greatest.values.fill(64);
  CaseSizes sizes;
  sizes.values.fill(16);
  EXPECT_DOUBLE_EQ(octaves_beyond(sizes, least, greatest), 0);
  sizes.values.front() = 128;
  EXPECT_DOUBLE_EQ(octaves_beyond(sizes, least, greatest), 1);
  sizes.values.back() = 1;
  EXPECT_DOUBLE_EQ(octaves_beyond(sizes, least, greatest), 3);
}

TEST(Widening, HoldsNineteenOfTwentySamples) {
  std::vector<double> excesses;
  for (int i = 1; i <= 39; ++i) excesses.push_back(i);
  EXPECT_DOUBLE_EQ(widening_of(excesses), 38);  // ceil(0.95 * 40)
  EXPECT_DOUBLE_EQ(widening_of({0.25, 0.5}), 0.5);
  EXPECT_DOUBLE_EQ(widening_of({}), std::numbers::ln2);
  const LogInterval interval{-0.25, 0.5};
  EXPECT_DOUBLE_EQ(excess_per_octave({2, 0.5}, interval), 0);
  EXPECT_DOUBLE_EQ(excess_per_octave({2, 1.5}, interval), 0.5);
  EXPECT_DOUBLE_EQ(excess_per_octave({2, -1.25}, interval), 0.5);
}

TEST(KernelModel, WidensItsIntervalWithTheDistance) {
  const KernelModels models =
      fit(samples(lowering::Method::direct, {64, 96, 128, 192, 256}, drifting));
  const KernelModel& model = models.models.front();
  EXPECT_GT(model.widening, 0);
  const auto width = [&model](int c, int hw) {
    const Estimate<Seconds> time = model.predict(case_of(lowering::Method::direct, c, hw)).time;
    return time.high / time.low;
  };
  EXPECT_NEAR(width(128, 28), model.ratio_high / model.ratio_low, 1e-9);
  EXPECT_GT(width(32, 28), 1.05 * width(128, 28));
  EXPECT_GT(width(16, 28), 1.05 * width(32, 28));
  EXPECT_GT(width(1024, 28), 1.05 * width(512, 28));
}

TEST(KernelModel, CoversWhatLiesBeyondItsRange) {
  const KernelModels models =
      fit(samples(lowering::Method::direct, {64, 96, 128, 192, 256}, drifting));
  const KernelModel& model = models.models.front();
  KernelModel as_inside = model;
  as_inside.widening = 0;
  int all = 0;
  int covered = 0;
  int covered_as_inside = 0;
  const auto covers = [](const KernelModel& by, const KernelSample& sample) {
    const Estimate<Seconds> time = by.predict(sample.what).time;
    return time.low <= sample.time && sample.time <= time.high ? 1 : 0;
  };
  for (const KernelSample& sample : samples(lowering::Method::direct, {32, 512, 1024}, drifting)) {
    ++all;
    covered += covers(model, sample);
    covered_as_inside += covers(as_inside, sample);
  }
  EXPECT_GE(covered, 0.8 * all);  // 13 of 15
  EXPECT_LT(covered_as_inside, 0.5 * all);
}

}  // namespace
}  // namespace dlscale::model
