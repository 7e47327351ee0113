#include "model/roofline/fit/fold_fits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include "model/roofline/fit/kernel_fit.hpp"

namespace dlscale::model {
namespace {

std::string key(int c, int hw) {
  const std::string side = std::to_string(hw);
  const std::string channels = std::to_string(c);
  return "convolution c" + channels + " h" + side + " w" + side + " k" + channels +
         " r3 s3 stride1 pad1 groups1";
}

KernelCase case_of(convolution::Method method, int c, int hw) {
  return make_case({.backend = "native", .method = method}, key(c, hw), 4, 16);
}

/// Of all shapes, in a time that follows from the case.
std::vector<KernelSample> extrapolation_samples(
    convolution::Method method, const std::vector<int>& channels,
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
      fit(extrapolation_samples(convolution::Method::direct, {64, 96, 128, 192, 256}, drifting));
  const KernelModel& model = models.models.front();
  EXPECT_GT(model.widening, 0);
  const auto width = [&model](int c, int hw) {
    const Estimate<Seconds> time = model.predict(case_of(convolution::Method::direct, c, hw)).time;
    return time.high / time.low;
  };
  EXPECT_NEAR(width(128, 28), model.ratio_high / model.ratio_low, 1e-9);
  EXPECT_GT(width(32, 28), 1.05 * width(128, 28));
  EXPECT_GT(width(16, 28), 1.05 * width(32, 28));
  EXPECT_GT(width(1024, 28), 1.05 * width(512, 28));
}

TEST(OctavesBelow, AreThoseOfOperationsOrBytes) {
  CaseSizes least;
  least.values.fill(64);
  CaseSizes sizes = least;
  EXPECT_DOUBLE_EQ(octaves_below(sizes, least), 0);
  sizes.values.back() = 1;
  EXPECT_DOUBLE_EQ(octaves_below(sizes, least), 0) << "a stride";
  sizes.values.at(CaseSizes::flops) = 16;
  sizes.values.at(CaseSizes::bytes) = 32;
  EXPECT_DOUBLE_EQ(octaves_below(sizes, least), 2);
  sizes.values.at(CaseSizes::bytes) = 1024;
  EXPECT_DOUBLE_EQ(octaves_below(sizes, least), 2);
}

/// 100 GFLOP/s, and so much before that.
std::vector<KernelSample> started_samples(double start) {
  return extrapolation_samples(
      convolution::Method::direct, {64, 96, 128},
      [start](const KernelCase& what) { return start + what.work.flops().si() / 1e11; });
}

/// Whether the interval that a fit to larger shapes has for images of one pixel holds the start,
/// which is nearly all that they take.
bool holds_the_start(const KernelModel& model, double start) {
  const Estimate<Seconds> time = model.predict(case_of(convolution::Method::direct, 1, 1)).time;
  return time.low <= Seconds(start) && Seconds(start) <= time.high;
}

TEST(KernelModel, HoldsTheCostOfACallWhateverTheFitMadeOfIt) {
  const double start = 2e-5;
  const std::vector<KernelSample> all = started_samples(start);
  KernelModel model = fit(all).models.front();
  const auto fastest = std::ranges::min_element(all, {}, &KernelSample::time);
  EXPECT_EQ(model.fastest, fastest->time);
  // What least squares may as well end with: nothing to start, or all of the fastest sample.
  model.ratio_low = model.ratio_high = 1;
  model.widening = 0;
  double& fitted = model.parameters.at(static_cast<std::size_t>(Term::start));
  fitted = 0;
  EXPECT_TRUE(holds_the_start(model, start));
  fitted = fastest->time.si();
  EXPECT_TRUE(holds_the_start(model, start));
  model.fastest = Seconds();
  fitted = 0;
  EXPECT_FALSE(holds_the_start(model, start)) << "the fastest sample was not needed";
}

TEST(KernelModel, AsksAboutTheStartOnlyWhereThereIsLessToDo) {
  KernelModel model = fit(started_samples(2e-5)).models.front();
  const auto of = [&model](int c, int hw) {
    return model.predict(case_of(convolution::Method::direct, c, hw)).time;
  };
  const Estimate<Seconds> inside = of(96, 28);
  const Estimate<Seconds> above = of(512, 56);
  model.fastest = Seconds(1);
  EXPECT_EQ(of(96, 28).low, inside.low);
  EXPECT_EQ(of(96, 28).high, inside.high);
  EXPECT_EQ(of(512, 56).high, above.high);
  EXPECT_EQ(of(8, 7).high, Seconds(1));
}

TEST(KernelModel, CoversWhatLiesBeyondItsRange) {
  const KernelModels models =
      fit(extrapolation_samples(convolution::Method::direct, {64, 96, 128, 192, 256}, drifting));
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
  for (const KernelSample& sample :
       extrapolation_samples(convolution::Method::direct, {32, 512, 1024}, drifting)) {
    ++all;
    covered += covers(model, sample);
    covered_as_inside += covers(as_inside, sample);
  }
  EXPECT_GE(covered, 0.8 * all);  // 13 of 15
  EXPECT_LT(covered_as_inside, 0.5 * all);
}

}  // namespace
}  // namespace dlscale::model
