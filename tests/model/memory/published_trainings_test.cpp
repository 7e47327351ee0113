#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <iostream>
#include <string>
#include <vector>

#include "model/published/memory/fit.hpp"
#include "model/published/memory/leave_out.hpp"
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

/// Each network is judged by fragmentation and range that were fitted to the others.
TEST(PublishedMemory, NanotronJudgedOnNetworksThatWereNotFitted) {
  const MemoryCaseFile file = nanotron_rows("");
  ASSERT_EQ(file.outcomes.size(), 863U);
  const MemoryScore is = score(predict_left_out(file), file.outcomes);
  print("nanotron, H100, judged on other networks", is);
  EXPECT_EQ(is.ran, 514U);
  EXPECT_EQ(is.failures, 349U);
  EXPECT_LT(is.median, 0.057);
  EXPECT_GT(is.balanced, 0.96);
  EXPECT_GE(is.coverage, 0.85);
  EXPECT_LE(is.coverage, 0.95);
}

TEST(PublishedMemory, NetworksOfNanotronAgreeOnWhatIsFitted) {
  Implementation start = implementation_named("nanotron");
  start.fragmentation = {.alone = 1.1, .shared = 1.2, .run_ahead = 32};
  const auto fit = [&](const char* network) {
    const MemoryCaseFile file = nanotron_rows(network);
    return fit_fragmentation(start, file.cases, file.outcomes).fragmentation;
  };
  const Fragmentation small = fit("llama-1.34g");
  const Fragmentation large = fit("llama-8.86g");
  EXPECT_NEAR(small.alone, large.alone, 0.035);
  EXPECT_NEAR(small.shared, large.shared, 0.03);
  EXPECT_NEAR(small.run_ahead, large.run_ahead, 8);
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
  const Implementation used = implementation_named("nanotron");
  const Implementation fitted = fit_fragmentation(used, all.cases, all.outcomes);
  EXPECT_NEAR(fitted.fragmentation.alone, used.fragmentation.alone, 0.002);
  EXPECT_NEAR(fitted.fragmentation.shared, used.fragmentation.shared, 0.01);
  EXPECT_NEAR(fitted.fragmentation.run_ahead, used.fragmentation.run_ahead, 1);
  EXPECT_NEAR(fitted.low, used.low, 0.02);
  EXPECT_NEAR(fitted.high, used.high, 0.02);
}

}  // namespace
}  // namespace dlscale::model::memory
