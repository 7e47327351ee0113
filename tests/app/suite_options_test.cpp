#include "app/suite/definition/suite_options.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale::app {
namespace {

using Words = std::vector<std::string>;

Suite suite_of(std::vector<Words> commands) {
  Suite suite;
  suite.name = "sample";
  for (Words& words : commands) {
    SuiteStep step;
    step.words = std::move(words);
    suite.steps.push_back(std::move(step));
  }
  return suite;
}

TEST(OptionsOfASuite, ReachTheStepsThatTakeThem) {
  Suite suite =
      suite_of({{"bench", "conv"}, {"bench", "e2e"}, {"bench", "memory"}, {"report", "x"}});
  add_options({1800, "p40x16"}, suite);
  EXPECT_EQ(suite.steps[0].words,
            (Words{"bench", "conv", "--wait-quiet", "1800", "--cluster", "p40x16"}));
  EXPECT_EQ(suite.steps[1].words, (Words{"bench", "e2e", "--wait-quiet", "1800"}));
  EXPECT_EQ(suite.steps[2].words, (Words{"bench", "memory", "--wait-quiet", "1800"}));
  EXPECT_EQ(suite.steps[3].words, (Words{"report", "x"}));
}

TEST(OptionsOfASuite, WaitingIsNoTimeThatCountsAsHung) {
  Suite suite = suite_of({{"bench", "conv"}, {"bench", "gemm"}, {"report", "x"}});
  suite.steps[0].timeout_s = 100;
  suite.steps[2].timeout_s = 100;
  add_options({1800, ""}, suite);
  EXPECT_EQ(suite.steps[0].timeout_s, 1900);
  EXPECT_EQ(suite.steps[1].timeout_s, std::nullopt);
  EXPECT_EQ(suite.steps[2].timeout_s, 100) << "it does not wait";
}

TEST(OptionsOfASuite, LeaveStepsWithTheirOwnAlone) {
  Suite suite = suite_of({{"bench", "gemm", "--wait-quiet", "5"}, {"bench", "peak"}});
  add_options({60, ""}, suite);
  EXPECT_EQ(suite.steps[0].words, (Words{"bench", "gemm", "--wait-quiet", "5"}));
  EXPECT_EQ(suite.steps[1].words, (Words{"bench", "peak", "--wait-quiet", "60"}));
}

TEST(OptionsOfASuite, ChangeNothingWhereNoneIsGiven) {
  Suite suite = suite_of({{"bench", "conv"}});
  add_options({}, suite);
  EXPECT_EQ(suite.steps[0].words, (Words{"bench", "conv"}));
}

TEST(OptionsOfASuite, WithoutEffectAreRefused) {
  Suite suite = suite_of({{"calibrate", "x"}});
  EXPECT_THROW(add_options({60, ""}, suite), ConfigError);
  EXPECT_THROW(add_options({std::nullopt, "p40x16"}, suite), ConfigError);
}

}  // namespace
}  // namespace dlscale::app
