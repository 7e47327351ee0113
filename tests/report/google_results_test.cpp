#include "report/comparison/google_results.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "report/comparison/compare.hpp"
#include "report/comparison/comparison_table.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

using regression::Verdict;

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
  return google_results(file.path()).value().results;
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
  EXPECT_EQ(role_of("comm", "real_time"), SeriesRole::judged);
  EXPECT_EQ(role_of("e2e", "real_time"), SeriesRole::judged);
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
        std::tuple{R"({"name": "comm", "repetition_index": 0, "real_time": 2},
                       {"name": "comm", "error_occurred": true, "error_message": "no device"})",
                   Verdict::wrong, "B is wrong (no device)"},
        std::tuple{R"({"name": "comm", "repetition_index": 0, "real_time": 0},
                       {"name": "comm", "repetition_index": 1, "real_time": NaN})",
                   Verdict::inconclusive, "B is without times"}}) {
    const ComparisonReport report = compare(std::vector{a}, std::vector{results_of(row)}, 0.02);
    ASSERT_EQ(report.not_compared.size(), 1U) << row;
    EXPECT_TRUE(contains(report.not_compared[0].why, why)) << report.not_compared[0].why;
    EXPECT_EQ(report.verdict, verdict) << row;
  }
}

// A mean and a deviation are no times, and what is skipped or no number has none either.
TEST(GoogleResults, WithoutATimeInCommonHaveNothingToCompareAndSayWhy) {
  for (const auto& [row, why] :
       {std::pair{R"({"name": "comm_mean", "run_name": "comm", "run_type": "aggregate",
                      "aggregate_name": "mean", "real_time": 2},
                     {"name": "comm_stddev", "run_name": "comm", "run_type": "aggregate",
                      "aggregate_name": "stddev", "real_time": 1})",
                  "without times (neither repetitions nor a median)"},
        std::pair{R"({"name": "comm_cv", "run_name": "comm", "run_type": "aggregate",
                      "aggregate_name": "cv", "real_time": 0.1})",
                  "without times (neither repetitions nor a median)"},
        std::pair{R"({"name": "comm", "skipped": true, "skip_message": "no device"})",
                  "unsupported"},
        std::pair{R"({"name": "comm", "real_time": NaN})", "without times"}}) {
    const ResultFile file = results_of(row);
    const ComparisonReport report =
        compare(std::vector{results_of(measured_rows)}, std::vector{file}, 0.02);
    EXPECT_EQ(exit_code(report, MissingRows::pass), ExitCode::nothing_measured) << row;
    const Document document = comparison_document(report);
    EXPECT_TRUE(
        document.lead.starts_with("inconclusive: nothing in common has times on both sides"))
        << document.lead;
    EXPECT_TRUE(contains(document.tables.at(0).notes.at(0), why))
        << document.tables.at(0).notes.at(0);
  }
}

TEST(GoogleResults, HaveNoTimesThatNothingTakes) {
  for (const char* time : {"0", "-1", "1e300"}) {
    const ResultFile file = results_of(std::string(R"({"name": "A", "real_time": )") + time +
                                       R"(}, {"name": "B", "real_time": 2})");
    ASSERT_EQ(file.measurements.size(), 2U) << time;
    EXPECT_TRUE(file.measurements[0].series.empty());
    EXPECT_TRUE(file.measurements[0].reason.starts_with("real_time is "));
    EXPECT_EQ(file.measurements[1].series.size(), 1U);
  }
}

/// As in histories and gates.
TEST(GoogleResults, LeaveOutARepetitionThatNothingTakesAndSaySo) {
  for (const char* time : {"0", "NaN", "-1", "1e300"}) {
    const TemporaryFile file(fmt::format(R"({{"context": {{}}, "benchmarks": [
          {{"name": "A", "repetition_index": 0, "real_time": {}, "time_unit": "s"}},
          {{"name": "A", "repetition_index": 1, "real_time": 10, "time_unit": "s"}},
          {{"name": "A", "repetition_index": 2, "real_time": 11, "time_unit": "s"}}]}})",
                                         time));
    const PrintedResults printed = google_results(file.path()).value();
    EXPECT_EQ(printed.results.measurements.at(0).at("real_time").samples[0],
              (std::vector<double>{10, 11}));
    ASSERT_EQ(printed.notes.size(), 1U) << time;
    EXPECT_TRUE(printed.notes[0].starts_with("left out: A: its real_time is ")) << printed.notes[0];
  }
}

PrintedResults of_program(const std::string& program, double time) {
  return google_results(
             TemporaryFile(fmt::format(R"({{"context": {{"executable": "{}"}}, "benchmarks": [
               {{"name": "BM_Copy", "real_time": {}, "time_unit": "us"}}]}})",
                                       program, time))
                 .path())
      .value();
}

/// Programs may have benchmarks of the same name.
TEST(GoogleResults, OfSeveralProgramsAreComparedProgramByProgram) {
  std::vector a{of_program("/a/bench_x", 10), of_program("/a/bench_y", 100)};
  std::vector b{of_program("C:\\\\b\\\\bench_x", 20), of_program("bench_y", 100)};
  EXPECT_EQ(b[0].program, "bench_x");
  keep_programs_apart(a, b);
  EXPECT_EQ(a[0].results.measurements[0].key(), "BM_Copy program=bench_x");
  EXPECT_EQ(b[0].results.measurements[0].key(), a[0].results.measurements[0].key());
  EXPECT_EQ(b[1].results.measurements[0].key(), a[1].results.measurements[0].key());
  EXPECT_NE(a[0].results.measurements[0].key(), a[1].results.measurements[0].key());
  EXPECT_EQ(a[0].roundings.count("BM_Copy program=bench_x"), a[0].roundings.size());
  std::vector old{of_program("bench_old", 10)};
  std::vector now{of_program("bench_new", 20)};
  keep_programs_apart(old, now);
  EXPECT_EQ(now[0].results.measurements[0].key(), "BM_Copy");
}

TEST(GoogleResults, OfVersionsBefore15HaveTheirRepetitionsAlone) {
  const ResultFile file = results_of(
      R"({"name": "A", "real_time": 2}, {"name": "A", "real_time": 3},
         {"name": "A_mean", "real_time": 2.5}, {"name": "A_median", "real_time": 2.5},
         {"name": "A_stddev", "real_time": 0.7})");
  ASSERT_EQ(file.measurements.size(), 1U);
  EXPECT_EQ(file.measurements[0].at("real_time").samples[0].size(), 2U);
}

/// Five repetitions that print so.
std::string repetitions(const std::string& time) {
  std::string rows;
  for (int i = 0; i < 5; ++i) {
    rows += fmt::format(
        R"({}{{"name": "BM", "repetition_index": {}, "real_time": {}, "time_unit": "ns"}})",
        i == 0 ? "" : ", ", i, time);
  }
  return rows;
}

PrintedResults printed_results(const std::string& rows) {
  return google_results(TemporaryFile("{\"benchmarks\": [" + rows + "]}").path()).value();
}

/// Whole nanoseconds, as before version 1.4, and hundredths.
TEST(GoogleResults, AreJudgedByWhatTheirDigitsAllow) {
  const std::map<std::pair<std::string, std::string>, Verdict> all{
      {{"1", "2"}, Verdict::inconclusive},   {{"20", "21"}, Verdict::inconclusive},
      {{"21", "20"}, Verdict::inconclusive}, {{"20", "20"}, Verdict::inconclusive},
      {{"10", "20"}, Verdict::regressed},    {{"20", "10"}, Verdict::improved},
      {{"200", "200"}, Verdict::unchanged},  {{"0.01", "0.02"}, Verdict::inconclusive},
      {{"1.00", "2.00"}, Verdict::regressed}};
  for (const auto& [times, verdict] : all) {
    SCOPED_TRACE(times.first + " to " + times.second);
    const PrintedResults a = printed_results(repetitions(times.first));
    const PrintedResults b = printed_results(repetitions(times.second));
    const ComparisonReport report = compare(std::vector{a.results}, std::vector{b.results}, 0.02,
                                            AcrossPlaces::refused, a.roundings, b.roundings);
    EXPECT_EQ(report.rows.at(0).verdict, verdict);
    const bool is_hidden = verdict == Verdict::inconclusive;
    const std::string lead = comparison_document(report).lead;
    EXPECT_EQ(contains(lead, "1 row is printed with too few digits to see changes of 2.0 %"),
              is_hidden)
        << lead;
    EXPECT_EQ(contains(report.rows.at(0).method, "cannot be seen"), is_hidden);
  }
}

// The decision that histories and gates take.
TEST(GoogleResults, OfOneRepetitionHaveNoAggregatesAsTimes) {
  const ResultFile file = results_of(
      R"({"name": "A", "iterations": 9, "real_time": 2},
         {"name": "A_mean", "iterations": 9, "real_time": 2.5},
         {"name": "A_stddev", "iterations": 9, "real_time": 0.7})");
  ASSERT_EQ(file.measurements.size(), 1U);
  EXPECT_EQ(file.measurements[0].at("real_time").samples[0], std::vector<double>{2e-9});
}

TEST(GoogleResults, OfOneNameSayWhyTheyHaveNoTimes) {
  for (const std::string_view index : {R"("repetition_index": 0, )", ""}) {
    const std::string row = R"({"name": "A", )" + std::string(index) + R"("real_time": 2})";
    const ResultFile file = results_of(row + R"(, {"name": "B", "real_time": 1}, )" + row);
    ASSERT_EQ(file.measurements.size(), 2U);
    EXPECT_TRUE(contains(file.measurements[0].reason, "so several benchmarks have this name"))
        << file.measurements[0].reason;
  }
}

TEST(GoogleResults, OfOtherProgramsAreRefusedByTheirName) {
  for (const auto& [text, name] :
       {std::pair{R"({"results": [{"command": "x", "times": [1]}]})", "a file of hyperfine, and"},
        std::pair{R"([{"primaryMetric": {"score": 1}}])", "a file of JMH, and"},
        std::pair{"# OSU MPI Latency Test v7.0\n# Size Latency (us)\n1 2\n", "a file of OSU's"},
        std::pair{"name,iterations,real_time,cpu_time\nA,1,2,3\n", "Google Benchmark in CSV"}}) {
    const TemporaryFile file(text);
    try {
      (void)compared_results(file.path());
      FAIL() << text;
    } catch (const ConfigError& error) {
      EXPECT_TRUE(contains(error.what(), name)) << error.what();
      EXPECT_TRUE(contains(error.what(), "compare reads results of dlscale")) << error.what();
    }
  }
  EXPECT_THROW((void)compared_results("/nowhere"), ConfigError);
}

TEST(GoogleResults, AreNotTakenForOthers) {
  for (const std::string_view text :
       {R"({"schema": "dlscale.result", "version": 1, "context": {}})", "[\"context\"]", "",
        "\"context\""}) {
    const TemporaryFile file(text);
    EXPECT_FALSE(google_results(file.path()).has_value()) << text;
  }
}

}  // namespace
}  // namespace dlscale::report
