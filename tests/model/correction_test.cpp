#include "model/roofline/kernels/correction.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "model/roofline/fit/kernel_fit.hpp"
#include "model/roofline/fit/split.hpp"

namespace dlscale::model {
namespace {

constexpr LogSizes here{6, 6, 10, 3, 0};

LogSizes away(double octaves) {
  LogSizes sizes = here;
  sizes[2] += octaves;
  return sizes;
}

TEST(Correction, IsDrawnToNothingByItsPrior) {
  const Correction correction{1, 1, {{here, 0.4, 1}}};
  EXPECT_DOUBLE_EQ(correction.at(here), 0.2);
  const Correction sure{1, 1, std::vector<Residual>(99, {here, 0.4, 1})};
  EXPECT_NEAR(sure.at(here), 0.4 * 99 / 100, 1e-12);
  const Correction half{1, 1, {{here, 0.4, 0.5}}};
  EXPECT_DOUBLE_EQ(half.at(here), 0.4 / 3);
}

TEST(Correction, FadesAwayFromWhatWasMeasured) {
  const Correction correction{1, 1, {{here, 0.4, 1}, {away(1), 0.3, 1}}};
  double before = correction.at(away(1));
  for (const double octaves : {2, 3, 4, 6}) {
    const double now = correction.at(away(octaves));
    EXPECT_GT(now, 0) << octaves;
    EXPECT_LT(now, before) << octaves;
    before = now;
  }
  EXPECT_LT(correction.at(away(8)), 1e-6);
  EXPECT_EQ(Correction().at(here), 0);
}

TEST(Correction, GoesByWhatAPassSumsAndMakes) {
  const std::string kernel = "convolution c64 h28 w28 k128 r3 s3 stride1 pad1 groups2";
  const auto sizes = [&](Pass pass) {
    return log_sizes(make_case(
        {.backend = "native", .method = convolution::Method::im2col, .pass = pass}, kernel, 4, 16));
  };
  const double pixels = std::log2(4 * 28 * 28);
  EXPECT_EQ(sizes(Pass::forward), (LogSizes{5, 6, pixels, std::log2(9), 0}));
  EXPECT_EQ(sizes(Pass::backward_data), (LogSizes{6, 5, pixels, std::log2(9), 0}));
}

// ---------------------------------------------------------------------- as a part of kernel models

/// Times of im2col at 64 shapes and batches, which terms describe but for `deviation` (C).
template <class Deviation>
std::vector<KernelSample> correction_samples(const Deviation& deviation) {
  Amounts truth{};
  truth.at(static_cast<std::size_t>(Term::start)) = 5e-6;
  truth.at(static_cast<std::size_t>(Term::multiply)) = 1e-11;
  truth.at(static_cast<std::size_t>(Term::copy_bytes)) = 5e-11;
  std::vector<KernelSample> all;
  for (const int c : {16, 64, 256, 1024}) {
    for (const int hw : {7, 10, 14, 20, 28, 40, 56, 80}) {
      for (const int batch : {1, 4}) {
        const std::string size = std::to_string(hw);
        const std::string kernel = "convolution c" + std::to_string(c) + " h" + size + " w" + size +
                                   " k" + std::to_string(c) + " r3 s3 stride1 pad1 groups1";
        const KernelCase what = make_case(
            {.backend = "native", .method = convolution::Method::im2col}, kernel, batch, 16);
        const Seconds time = time_of(terms_of(what, {Bytes(1 << 20), Bytes(16 << 20)}), truth);
        all.push_back({what, std::exp(deviation(c)) * time, {}});
      }
    }
  }
  return all;
}

/// A library with another kernel from one number of channels to the next.
double by_turns(int channels) {
  return channels == 16 || channels == 256 ? 0.25 : -0.25;
}

/// Median errors at shapes that were not fitted.
struct Errors {
  double corrected, uncorrected;
};

Errors errors(const std::vector<KernelSample>& all) {
  std::vector<KernelSample> training;
  for (const KernelSample& sample : all) {
    if (half_of(sample.what.kernel) == Half::training) training.push_back(sample);
  }
  std::vector<std::string> skipped;
  const KernelModels models = fit_kernels(training, skipped);
  std::vector<double> corrected;
  std::vector<double> uncorrected;
  for (const KernelSample& sample : all) {
    if (half_of(sample.what.kernel) == Half::training) continue;
    const KernelPrediction prediction = models.find(sample.what.way)->predict(sample.what);
    const double ratio = prediction.time.value / sample.time;
    corrected.push_back(std::abs(std::log(ratio)));
    uncorrected.push_back(std::abs(std::log(ratio / prediction.correction)));
  }
  return {median(corrected), median(uncorrected)};
}

TEST(KernelFit, FollowsWhatItsTermsDoNotKnow) {
  const Errors found = errors(correction_samples(by_turns));
  EXPECT_GT(found.uncorrected, 0.1);
  EXPECT_LT(found.corrected, 0.7 * found.uncorrected);
}

TEST(KernelFit, CorrectsNoNoise) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal(0, 0.1);
  const Errors found = errors(correction_samples([&](int) { return normal(random); }));
  EXPECT_LT(found.corrected, 1.15 * found.uncorrected);
}

TEST(StageTime, IsThatOfTheSlowerSide) {
  const StageTime transform{"transform", Seconds(1), Seconds(2)};
  EXPECT_TRUE(transform.memory_bound());
  EXPECT_EQ(transform.time(), Seconds(2));
  const StageTime product{"product", Seconds(3), Seconds(2)};
  EXPECT_FALSE(product.memory_bound());
  EXPECT_EQ(product.time(), Seconds(3));
}

TEST(KernelModel, NamesStagesThatAddUpToItsTime) {
  const auto all = correction_samples(by_turns);
  std::vector<std::string> skipped;
  const KernelModels models = fit_kernels(all, skipped);
  for (const KernelSample& sample : all) {
    const KernelPrediction prediction = models.models.front().predict(sample.what);
    ASSERT_EQ(prediction.stages.size(), sample.what.work.stages.size());
    Seconds sum = prediction.always;
    for (std::size_t i = 0; i < prediction.stages.size(); ++i) {
      EXPECT_EQ(prediction.stages[i].name, sample.what.work.stages[i].name);
      sum += prediction.stages[i].time();
    }
    EXPECT_NEAR(sum / prediction.time.value, 1, 1e-12) << sample.what.kernel;
    EXPECT_TRUE(prediction.stages.front().memory_bound());  // copies patches
    EXPECT_GT(prediction.stages.back().compute.si(), 0);    // multiplies them
  }
}

TEST(KernelFile, KeepsTheCorrection) {
  std::vector<std::string> skipped;
  const auto all = correction_samples(by_turns);
  const KernelModels models = fit_kernels(all, skipped);
  ASSERT_FALSE(models.models.front().correction.residuals.empty());
  const std::string text = kernel_models_json(models);
  const KernelModels read = kernel_models_from_json(text, "file");
  EXPECT_EQ(kernel_models_json(read), text);
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    EXPECT_THROW((void)kernel_models_from_json(changed, "file"), ConfigError) << to;
  };
  refused("\"reach_octaves\": ", "\"reach_octaves\": -");
  refused("\"prior_samples\": ", "\"prior_samples\": -");
  refused("\"residuals\": [", "\"residuals\": [[1e9, 0, 0, 0, 0, 0, 1], ");
  refused("\"residuals\": [", "\"residuals\": [[0, 0, 0, 0, 0, 0.6, 1], ");
  refused("\"residuals\": [", "\"residuals\": [[0, 0, 0, 0, 0, 0, 0], ");
  refused("\"residuals\": [", "\"residuals\": [[0, 0, 0, 0, 0, 0, 1, 1], ");
  refused("\"residuals\": [", "\"residuals\": [[0, 0, 0, 0, 0, 0], ");
  refused("\"residuals\": [", "\"residuals\": [7, ");
}

}  // namespace
}  // namespace dlscale::model
