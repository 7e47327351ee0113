#include "model/goodput/checkpoints.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace dlscale::model::goodput {
namespace {

CheckpointedJob job_with(double mtbf, double stall, double write = 0, double restart = 0) {
  return {1 / mtbf, Seconds(stall), Seconds(write), Seconds(restart)};
}

/// The interval of the greatest useful share, by golden section on its logarithm.
double searched_interval(const CheckpointedJob& job) {
  constexpr double golden = 0.6180339887498949;
  double low = std::log(1e-6);
  double high = std::log(1e9);
  const auto share = [&](double log_every) {
    return useful_share(job, Seconds(std::exp(log_every)));
  };
  for (int i = 0; i < 200; ++i) {
    const double left = high - golden * (high - low);
    const double right = low + golden * (high - low);
    if (share(left) < share(right)) {
      low = left;
    } else {
      high = right;
    }
  }
  return std::exp((low + high) / 2);
}

TEST(CheckpointInterval, IsTheBestOneOfAll) {
  for (const double mtbf : {100.0, 3600.0, 1e5, 1e7}) {
    for (const double stall : {0.01, 1.0, 60.0, 600.0}) {
      for (const double write : {0.0, 300.0}) {
        const CheckpointedJob job = job_with(mtbf, stall, write, 600);
        const double best = best_interval(job).si();
        EXPECT_NEAR(best / searched_interval(job), 1, 1e-4) << mtbf << " " << stall;
        for (const double other : {0.5, 0.9, 1.1, 2.0}) {
          EXPECT_LE(useful_share(job, Seconds(other * best)), useful_share(job, Seconds(best)));
        }
      }
    }
  }
}

TEST(CheckpointInterval, IsNearYoungsAndNearerDalys) {
  const CheckpointedJob often = job_with(86400, 60);
  const double best = best_interval(often).si();
  EXPECT_NEAR(young_interval(often).si(), std::sqrt(2 * 60 * 86400.0), 1e-9);
  EXPECT_NEAR(daly_interval(often).si() / best, 1, 1e-4);
  EXPECT_GT(std::abs(young_interval(often).si() / best - 1),
            10 * std::abs(daly_interval(often).si() / best - 1));
  EXPECT_EQ(daly_interval(job_with(100, 300)), Seconds(100));
}

TEST(CheckpointInterval, HasLimits) {
  EXPECT_TRUE(std::isinf(best_interval({0, Seconds(10), {}, {}}).si()));
  EXPECT_EQ(best_interval(job_with(100, 0)), Seconds());
  EXPECT_LE(best_interval(job_with(1, 1e6)).si(), 1);
}

TEST(UsefulShare, IsOneWithoutFailuresAndCheckpoints) {
  const CheckpointedJob job{0, {}, {}, Seconds(600)};
  EXPECT_EQ(useful_share(job, Seconds(std::numeric_limits<double>::infinity())), 1);
  EXPECT_EQ(useful_share({0, Seconds(10), {}, {}}, Seconds(90)), 0.9);
}

TEST(UsefulShare, IsToFirstOrderWhatIsLost) {
  const CheckpointedJob job = job_with(1e7, 5, 20, 100);
  const double expected = 1 - 5.0 / 1000 - (1000.0 / 2 + 5 + 20 + 100) / 1e7;
  EXPECT_NEAR(useful_share(job, Seconds(1000)), expected, 3e-5);
}

TEST(UsefulShare, NeverRisesWithFailuresOrTimes) {
  for (const double mtbf : {50.0, 1e3, 1e5}) {
    const CheckpointedJob job = job_with(mtbf, 10, 5, 60);
    for (const double every : {1.0, 100.0, 1e4}) {
      const double share = useful_share(job, Seconds(every));
      EXPECT_GE(share, 0);
      EXPECT_LE(share, 1);
      EXPECT_LE(useful_share(job_with(mtbf / 2, 10, 5, 60), Seconds(every)), share);
      EXPECT_LE(useful_share(job_with(mtbf, 20, 5, 60), Seconds(every)), share);
      EXPECT_LE(useful_share(job_with(mtbf, 10, 10, 60), Seconds(every)), share);
      EXPECT_LE(useful_share(job_with(mtbf, 10, 5, 120), Seconds(every)), share);
    }
  }
}

TEST(UsefulShare, IsANumberAtExtremes) {
  for (const double mtbf : {1e-9, 1e-3, 1e3, 1e300}) {
    for (const double time : {0.0, 1e-12, 1e3, 1e12}) {
      const CheckpointedJob job = job_with(mtbf, time, time, time);
      for (const double every : {1e-9, 1.0, 1e12}) {
        const double share = useful_share(job, Seconds(every));
        EXPECT_GE(share, 0);
        EXPECT_LE(share, 1);
      }
      EXPECT_FALSE(std::isnan(best_interval(job).si()));
    }
  }
}

}  // namespace
}  // namespace dlscale::model::goodput
