#include "regression/rounds/run_values.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/units.hpp"
#include "core/system/temporary_folder.hpp"

namespace dlscale::regression {
namespace {

/// As in histories and comparisons.
TEST(RunValues, LeaveOutARepetitionThatNothingTakesAndSaySo) {
  const std::filesystem::path file = temporary_folder() / "run_values_test.json";
  for (const char* time : {"0", "NaN", "-3"}) {
    std::ofstream(file) << R"({"context": {}, "benchmarks": [
      {"name": "A", "repetition_index": 0, "real_time": )"
                        << time << R"(}, {"name": "A", "repetition_index": 1, "real_time": 11},
      {"name": "A", "repetition_index": 2, "real_time": 10}]})";
    const RunOutcome outcome = read_run(file, Measure::automatic, Seconds(1));
    ASSERT_EQ(outcome.values.size(), 1U) << time;
    EXPECT_DOUBLE_EQ(outcome.values[0].value, 10e-9);
    EXPECT_EQ(outcome.values[0].samples, 2);
    EXPECT_THAT(outcome.without_times,
                testing::ElementsAre(testing::HasSubstr("A: its real_time is ")));
  }
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace dlscale::regression
