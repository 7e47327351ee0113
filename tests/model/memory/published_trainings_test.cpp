#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <iostream>
#include <string>
#include <vector>

#include "model/published/memory/fit.hpp"
#include "model/published/memory/predict.hpp"
#include "model/published/memory/score.hpp"
#include "tests/model/memory/training_rows.hpp"

/// Memory that others measured, as the program predicts it. Bounds are what was reached, rounded
/// up.
namespace dlscale::model::memory {
namespace {

using test::misc_rows;
using test::nanotron_rows;

void print(const char* name, const MemoryScore& is) {
  std::cout << name << ": " << is.ran << " ran, median " << 100 * is.median << " %, mean "
            << 100 * is.mean << " %, bias " << 100 * is.bias << " %, covered " << 100 * is.coverage
            << " %; " << is.ran_denied << " of them denied, " << is.failures_missed << " of "
            << is.failures << " failures missed, balanced " << 100 * is.balanced << " %\n";
}

TEST(PublishedMemory, LiveTensorsOfMegatronOnB200) {
  const MemoryCaseFile file = misc_rows("simumax_b200");
  ASSERT_EQ(file.cases.size(), 19U);
  const MemoryScore is = score(predict(file.cases), file.outcomes);
  print("Megatron, B200", is);
  EXPECT_LT(is.mean, 0.01);
  EXPECT_EQ(is.ran_denied, 0U);
  EXPECT_GE(is.coverage, 0.85);
}

TEST(PublishedMemory, Torchtitan) {
  const MemoryCaseFile file = misc_rows("torchtitan");
  ASSERT_EQ(file.cases.size(), 22U);
  const MemoryScore is = score(predict(file.cases), file.outcomes);
  print("torchtitan", is);
  EXPECT_LT(is.median, 0.042);
  EXPECT_LT(is.mean, 0.075);
}

/// Each network is judged by fragmentation and range that were fitted to the other one; networks
/// that never ran, by those of the smaller one.
TEST(PublishedMemory, NanotronFittedOnOneNetworkAndJudgedOnAnother) {
  const MemoryCaseFile small = nanotron_rows("llama-1.34g");
  const MemoryCaseFile large = nanotron_rows("llama-8.86g");
  Implementation start = implementation_of("nanotron");
  start.fragmentation = {.alone = 1.1, .shared = 1.2, .run_ahead = 32};
  const Implementation by_small = fit_fragmentation(start, small.cases, small.outcomes);
  const Implementation by_large = fit_fragmentation(start, large.cases, large.outcomes);
  EXPECT_NEAR(by_small.fragmentation.alone, by_large.fragmentation.alone, 0.035);
  EXPECT_NEAR(by_small.fragmentation.shared, by_large.fragmentation.shared, 0.03);
  EXPECT_NEAR(by_small.fragmentation.run_ahead, by_large.fragmentation.run_ahead, 8);

  std::vector<MemoryPrediction> predictions;
  std::vector<MemoryOutcome> outcomes;
  const auto judge = [&](const MemoryCaseFile& file, const Implementation& way) {
    for (const MemoryPrediction& each : predict(file.cases, way)) predictions.push_back(each);
    outcomes.insert(outcomes.end(), file.outcomes.begin(), file.outcomes.end());
  };
  judge(large, by_small);
  judge(small, by_large);
  judge(nanotron_rows("llama-469g"), by_small);
  judge(nanotron_rows("llama-469g-gqa"), by_small);
  ASSERT_EQ(outcomes.size(), 863U);
  const MemoryScore is = score(predictions, outcomes);
  print("nanotron, H100, judged on another network", is);
  EXPECT_EQ(is.ran, 514U);
  EXPECT_EQ(is.failures, 349U);
  EXPECT_LT(is.median, 0.056);
  EXPECT_GT(is.balanced, 0.96);
  EXPECT_GE(is.coverage, 0.85);
  EXPECT_LE(is.coverage, 0.95);
}

TEST(PublishedMemory, StatesOfNanotronAtTheUpdate) {
  const MemoryCaseFile file = nanotron_rows("");
  double sum = 0;
  int trainings = 0;
  for (std::size_t i = 0; i < file.cases.size(); ++i) {
    if (!file.outcomes[i].state_bytes) continue;
    sum += std::abs(predict(file.cases[i]).state_bytes / *file.outcomes[i].state_bytes - 1);
    ++trainings;
  }
  ASSERT_EQ(trainings, 514);
  EXPECT_LT(sum / trainings, 0.005);
}

/// The constants of the program are those that the fit to both networks finds.
TEST(PublishedMemory, ConstantsOfNanotronAreFitted) {
  const MemoryCaseFile all = nanotron_rows("");
  const Implementation used = implementation_of("nanotron");
  const Implementation fitted = fit_fragmentation(used, all.cases, all.outcomes);
  EXPECT_NEAR(fitted.fragmentation.alone, used.fragmentation.alone, 0.002);
  EXPECT_NEAR(fitted.fragmentation.shared, used.fragmentation.shared, 0.01);
  EXPECT_NEAR(fitted.fragmentation.run_ahead, used.fragmentation.run_ahead, 1);
  EXPECT_NEAR(fitted.low, used.low, 0.02);
  EXPECT_NEAR(fitted.high, used.high, 0.02);
}

}  // namespace
}  // namespace dlscale::model::memory
