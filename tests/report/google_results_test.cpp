#include "report/comparison/google_results.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <vector>

#include "core/base/error.hpp"
#include "report/comparison/compare.hpp"

namespace dlscale::report {
namespace {

/// A file that goes with the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view text)
      : path_(std::filesystem::temp_directory_path() /
              ("google-results-" + std::to_string(::getpid()) + ".json")) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TemporaryFile() {
    std::error_code unknown;
    std::filesystem::remove(path_, unknown);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

ResultFile results_of(const std::string& rows) {
  const TemporaryFile file(R"({"context": {"num_cpus": 4, "host_name": "h"}, "benchmarks": [)" +
                           rows + "]}");
  EXPECT_TRUE(is_google_benchmark(file.path()));
  return google_results(file.path());
}

constexpr const char* measured_rows = R"({"name": "comm", "real_time": 2, "time_unit": "s"},
  {"name": "comm", "real_time": 4, "time_unit": "s"},
  {"name": "comm_median", "run_name": "comm", "run_type": "aggregate", "aggregate_name": "median",
   "real_time": 99, "time_unit": "s"})";

TEST(GoogleResults, HaveRepetitionsAsSamplesAndAreJudgedWhateverTheyAreCalled) {
  const ResultFile file = results_of(measured_rows);
  ASSERT_EQ(file.measurements.size(), 1U);
  EXPECT_EQ(file.measurements[0].key(), "comm");
  EXPECT_EQ(file.measurements[0].at("real_time").samples,
            (std::vector<std::vector<double>>{{2, 4}}));
  EXPECT_EQ(file.header.environment.cores, 4);
  EXPECT_EQ(role_of("comm", "real_time"), Role::judged);
  EXPECT_EQ(role_of("e2e", "real_time"), Role::judged);
}

TEST(GoogleResults, OfAggregatesAloneHaveTheMedian) {
  const ResultFile file = results_of(
      R"({"name": "A_median", "run_name": "A", "run_type": "aggregate", "aggregate_name": "median",
          "real_time": 3, "time_unit": "s"},
         {"name": "A_cv", "run_name": "A", "run_type": "aggregate", "aggregate_name": "cv",
          "real_time": NaN})");
  ASSERT_EQ(file.measurements.size(), 1U);
  EXPECT_EQ(file.measurements[0].at("real_time").samples, (std::vector<std::vector<double>>{{3}}));
}

TEST(GoogleResults, TellWhatFailedAndWhatIsNoNumber) {
  const ResultFile a = results_of(measured_rows);
  for (const auto& [row, verdict, why] :
       {std::tuple{R"({"name": "comm", "error_occurred": true, "error_message": "no device"})",
                   Verdict::wrong, "B is wrong (no device)"},
        std::tuple{R"({"name": "comm", "skipped": true})", Verdict::inconclusive,
                   "B is unsupported (skipped)"},
        std::tuple{R"({"name": "comm", "real_time": 2}, {"name": "comm", "real_time": NaN})",
                   Verdict::inconclusive, "B is without times"}}) {
    const ComparisonReport report = compare(std::vector{a}, std::vector{results_of(row)}, 0.02);
    ASSERT_EQ(report.not_compared.size(), 1U) << row;
    EXPECT_NE(report.not_compared[0].why.find(why), std::string::npos)
        << report.not_compared[0].why;
    EXPECT_EQ(report.verdict, verdict) << row;
  }
}

TEST(GoogleResults, RefuseTimesThatNothingTakes) {
  for (const char* time : {"0", "-1", "1e300"}) {
    const std::string row = std::string(R"({"name": "A", "real_time": )") + time + "}";
    EXPECT_THROW((void)results_of(row), ConfigError) << time;
  }
}

TEST(GoogleResults, AreNotTakenForOthers) {
  for (const std::string_view text :
       {R"({"schema": "dlscale.result", "version": 1, "context": {}})", "[\"context\"]", "",
        "\"context\""}) {
    const TemporaryFile file(text);
    EXPECT_FALSE(is_google_benchmark(file.path())) << text;
  }
  EXPECT_FALSE(is_google_benchmark("/nowhere/at/all.json"));
}

}  // namespace
}  // namespace dlscale::report
