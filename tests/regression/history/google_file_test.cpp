#include "regression/import/google_file.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "histories.hpp"
#include "regression/history/run.hpp"

namespace dlscale::regression::history {
namespace {

/// As Google Benchmark writes it, with counters and aggregates that are no numbers.
constexpr std::string_view odd = R"({"context": {"num_cpus": 2},
  "benchmarks": [
    {"name": "BM_A<NaN>", "run_name": "BM_A<NaN>", "run_type": "iteration", "label": "a \"NaN\": -Infinity",
     "real_time": 3.0, "cpu_time": 2.0, "time_unit": "us", "my_counter": NaN, "other": -Infinity},
    {"name": "BM_A<NaN>_cv", "run_name": "BM_A<NaN>", "run_type": "aggregate", "aggregate_name": "cv",
     "real_time": -NaN, "cpu_time": NaN, "time_unit": "us"},
    {"name": "BM_B", "real_time": NaN, "cpu_time": 5.0, "time_unit": "us"},
    {"name": "BM_C", "real_time": Infinity, "cpu_time": 5.0, "time_unit": "us"},
    {"name": "BM_C", "real_time": 7.0, "cpu_time": 5.0, "time_unit": "us"}
  ]})";

ImportedRun imported(std::string_view text) {
  const samples::TemporaryFolder folder;
  samples::write_text(folder / "run.json", text);
  RunOptions options;
  options.commit = "c1";
  options.time = 1'700'000'000;
  return read_run((folder / "run.json").string(), options);
}

TEST(GoogleFile, IsReadWithNumbersThatAreNone) {
  const GoogleFile file = read_google_file(odd);
  ASSERT_EQ(file.rows.size(), 5U);
  EXPECT_EQ(file.rows[0].name, "BM_A<NaN>");
  EXPECT_DOUBLE_EQ(file.rows[0].values.at("real_time"), 3e-6);
  EXPECT_EQ(file.rows[1].aggregate, "cv");
  EXPECT_TRUE(std::isnan(file.rows[2].values.at("real_time")));
  EXPECT_TRUE(std::isnan(file.rows[3].values.at("real_time")));
}

TEST(GoogleFile, LeavesOutOfAHistoryWhatIsNoNumberByItsName) {
  const ImportedRun run = imported(odd);
  std::vector<std::string> series;
  for (const KeyedPoint& point : run.points) {
    series.push_back(point.key.axes.at("benchmark") + " " + point.key.metric);
    EXPECT_TRUE(std::isfinite(point.point.summary.median));
  }
  EXPECT_EQ(series, (std::vector<std::string>{"BM_A<NaN> real_time", "BM_A<NaN> cpu_time",
                                              "BM_B cpu_time", "BM_C real_time", "BM_C cpu_time"}));
  EXPECT_EQ(run.notes, (std::vector<std::string>{"left out: real_time of BM_B is not a number",
                                                 "left out: real_time of BM_C is not a number"}));
}

TEST(GoogleFile, StillNamesTheLineOfWhatIsNoJson) {
  for (const char* damage : {"NaN1", "nan", "+NaN", "--NaN", "1NaN"}) {
    std::string text(odd);
    text.replace(text.find("3.0"), 3, damage);
    try {
      (void)read_google_file(text);
      FAIL() << damage;
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string_view(error.what()).find("line 4"), std::string_view::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace dlscale::regression::history
