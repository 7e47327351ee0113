#include "model/sgd_iter/time_to_train.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "tests/core/support.hpp"

namespace dlscale::model {
namespace {

constexpr double time_to_train_infinity = std::numeric_limits<double>::infinity();

/// Mean epochs of MLPerf's reference convergence points, and what their law says.
struct Reference {
  const char* id;
  double batch;
  double epochs;
  double fitted;
};
constexpr Reference references[] = {{"C153", 1632, 35.0, 35.8},  {"C154", 3264, 35.2, 37.0},
                                    {"C155", 4096, 40.0, 37.6},  {"C156", 8192, 42.0, 40.6},
                                    {"C157", 13056, 45.4, 44.2}, {"C158", 32768, 56.0, 58.7},
                                    {"C159", 49152, 68.0, 70.8}, {"C160", 58880, 79.9, 78.0},
                                    {"C161", 65536, 84.5, 82.9}, {"C162", 67840, 85.857, 84.6}};

TEST(EpochsToTarget, FollowThePublishedOnes) {
  double sum = 0;
  for (const Reference& reference : references) {
    const double epochs = epochs_to_target(resnet50_imagenet, reference.batch);
    EXPECT_NEAR(epochs, reference.fitted, 0.05) << reference.id;
    EXPECT_NEAR(epochs / reference.epochs, 1, 0.061) << reference.id;
    EXPECT_TRUE(covers(resnet50_imagenet, reference.batch)) << reference.id;
    sum += std::abs(epochs / reference.epochs - 1);
  }
  EXPECT_NEAR(sum / static_cast<double>(std::size(references)), 0.034, 5e-4);
}

TEST(EpochsToTarget, HaveTheConstantsThatAreFittedToThese) {
  std::vector<EpochsAt> points;
  for (const Reference& reference : references)
    points.push_back({reference.batch, reference.epochs});
  const Convergence fit = fit_convergence(points);
  EXPECT_NEAR(fit.least_epochs, resnet50_imagenet.least_epochs, 0.005);
  EXPECT_NEAR(fit.critical_batch, resnet50_imagenet.critical_batch, 1);
  EXPECT_EQ(fit.smallest_batch, resnet50_imagenet.smallest_batch);
  EXPECT_EQ(fit.largest_batch, resnet50_imagenet.largest_batch);
}

TEST(EpochsToTarget, RiseWithTheBatchWhileStepsFall) {
  for (double batch = 1; batch < 1e7; batch *= 3) {
    EXPECT_LT(epochs_to_target(resnet50_imagenet, batch),
              epochs_to_target(resnet50_imagenet, 3 * batch));
    const auto steps_of = [](double of) {
      return epochs_to_target(resnet50_imagenet, of) * imagenet_images / of;
    };
    EXPECT_GT(steps_of(batch), steps_of(3 * batch));
    // (S / S_min - 1)(E / E_min - 1) = 1
    const double least_steps =
        resnet50_imagenet.least_epochs * imagenet_images / resnet50_imagenet.critical_batch;
    const double steps = steps_of(batch) / least_steps;
    const double epochs =
        epochs_to_target(resnet50_imagenet, batch) / resnet50_imagenet.least_epochs;
    EXPECT_NEAR((steps - 1) * (epochs - 1), 1, 1e-6) << batch;
  }
  EXPECT_FALSE(covers(resnet50_imagenet, 98304));
}

/// Medians of MLPerf's result files, with evaluation. [mlcommons/training_results_v0.7 and v1.1,
/// NVIDIA]
struct MlperfRun {
  const char* id;
  int devices;
  double batch;
  double epochs;
  double seconds;
  double peak;  ///< FLOP/s of a device in f16, as its data sheet says
};
constexpr MlperfRun mlperf_runs[] = {{"C163", 8, 1664, 37, 4271.9, 125e12},
                                     {"C164", 512, 33280, 56, 120.2, 125e12},
                                     {"C165", 768, 34560, 59, 63.4, 312e12},
                                     {"C166", 1024, 35840, 60, 34.5, 312e12},
                                     {"C167", 4320, 64800, 85, 20.9, 312e12}};

/// Of ResNet-50 v1.5 on one picture of 224 x 224: forward, and backward for data and filters.
constexpr double operations = 3 * 2 * 4089184256.0;

TEST(MlperfRuns, TakeTheEpochsOfTheirBatchAndLongerThanTheirPeak) {
  for (const MlperfRun& run : mlperf_runs) {
    EXPECT_NEAR(epochs_to_target(resnet50_imagenet, run.batch) / run.epochs, 1, 0.06) << run.id;
    const double at_peak = run.devices * run.peak / operations;
    const Seconds least = time_to_train({.epochs = run.epochs, .samples_per_s = at_peak});
    EXPECT_GT(run.seconds, 3 * least.si()) << run.id;  // 9 to 27 % of the peak
    EXPECT_LT(run.seconds, 13 * least.si()) << run.id;
  }
}

/// The rate of a V100 of the first on each of 512 of the second, by that law: no evaluation of its
/// own, for the rate is with it.
TEST(MlperfRuns, OfMoreDevicesTakeLongerThanTheRateOfFewForetells) {
  const MlperfRun& few = mlperf_runs[0];
  const MlperfRun& many = mlperf_runs[1];
  const double rate =
      required_rate({.epochs = few.epochs, .samples_per_s = 1}, Seconds(few.seconds)) / few.devices;
  const Seconds time = time_to_train({.epochs = epochs_to_target(resnet50_imagenet, many.batch),
                                      .samples_per_s = rate * many.devices});
  EXPECT_LT(time.si(), many.seconds);
  EXPECT_GT(time.si(), 0.85 * many.seconds);
}

TEST(TimeToTrain, CountsEvaluationsAndTheStart) {
  const Training training{.epochs = 10,
                          .samples = 1000,
                          .samples_per_s = 50,
                          .evaluation = Seconds(3),
                          .evaluations_per_epoch = 0.25,
                          .start = Seconds(7)};
  EXPECT_NEAR(time_to_train(training).si(), 10 * (20 + 0.75) + 7, 1e-12);
  EXPECT_NEAR(required_rate(training, time_to_train(training)), 50, 1e-9);
}

TEST(TimeToTrain, OfWhichEvaluationTakesAllIsRefusedInASentence) {
  const Training training{.epochs = 10, .evaluation = Seconds(3), .start = Seconds(7)};
  test::expect_contains(test::config_error([&] { (void)required_rate(training, Seconds(37)); }),
                        "take 37 s alone");
}

TEST(ConvergenceFit, OfEpochsThatDoNotRiseIsRefused) {
  const std::vector<EpochsAt> falling{{256, 90}, {8192, 80}};
  EXPECT_THROW((void)fit_convergence(falling), ConfigError);
  const std::vector<EpochsAt> one_batch{{256, 90}, {256, 91}};
  EXPECT_THROW((void)fit_convergence(one_batch), std::logic_error);
}

TEST(TimeToTrain, OfNothingOrAtAnInfiniteRateIsACallersMistake) {
  EXPECT_THROW((void)time_to_train({.epochs = 90, .samples_per_s = 0}), std::logic_error);
  EXPECT_THROW((void)time_to_train({.epochs = 90, .samples_per_s = time_to_train_infinity}),
               std::logic_error);
  EXPECT_THROW((void)time_to_train({.epochs = 0, .samples_per_s = 1}), std::logic_error);
  EXPECT_THROW((void)time_to_train({.epochs = 1, .samples = 0, .samples_per_s = 1}),
               std::logic_error);
  EXPECT_THROW((void)epochs_to_target(resnet50_imagenet, 0), std::logic_error);
  EXPECT_THROW((void)epochs_to_target(resnet50_imagenet, time_to_train_infinity), std::logic_error);
}

}  // namespace
}  // namespace dlscale::model
