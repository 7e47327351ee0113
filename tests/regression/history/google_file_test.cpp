#include "regression/import/google/google_file.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "histories.hpp"
#include "regression/history/run.hpp"
#include "regression/import/printed_json.hpp"

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
    {"name": "BM_C", "repetition_index": 0, "real_time": Infinity, "cpu_time": 5.0, "time_unit": "us"},
    {"name": "BM_C", "repetition_index": 1, "real_time": 7.0, "cpu_time": 5.0, "time_unit": "us"}
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

/// As in gates and comparisons.
TEST(GoogleFile, LeavesOutARepetitionThatNothingTakesAndSaysSo) {
  const ImportedRun run =
      imported(R"({"context": {"executable": "C:\\ci\\4711\\bench.exe"}, "benchmarks": [
    {"name": "A", "repetition_index": 0, "real_time": 0, "time_unit": "s"},
    {"name": "A", "repetition_index": 1, "real_time": 10, "time_unit": "s"},
    {"name": "A", "repetition_index": 2, "real_time": 12, "time_unit": "s"}]})");
  ASSERT_EQ(run.points.size(), 1U);
  EXPECT_EQ(run.points[0].point.summary.n, 2);
  EXPECT_EQ(run.points[0].key.axes.at("program"), "bench.exe");
  ASSERT_EQ(run.notes.size(), 1U);
  EXPECT_EQ(run.notes[0], "left out: real_time of A is 0, which nothing measured can be");
}

/// A wrong answer makes the speed of the others worthless.
TEST(GoogleFile, CountsNoRepetitionOfABenchmarkThatFailed) {
  const ImportedRun run = imported(R"({"context": {}, "benchmarks": [
    {"name": "A", "repetition_index": 0, "real_time": 10, "time_unit": "s"},
    {"name": "A", "repetition_index": 1, "error_occurred": true, "error_message": "wrong sum"},
    {"name": "B", "real_time": 12, "time_unit": "s"}]})");
  ASSERT_EQ(run.points.size(), 1U);
  EXPECT_EQ(run.points[0].key.axes.at("benchmark"), "B");
}

TEST(Hyperfine, LeavesOutTimesThatNoRunTakesAndSaysSo) {
  const ImportedRun run = imported(R"({"results": [
    {"command": "a", "times": [1.0, 0, 1.1, null]}, {"command": "b", "times": [0]}]})");
  ASSERT_EQ(run.points.size(), 1U);
  EXPECT_EQ(run.points[0].point.summary.n, 2);
  ASSERT_EQ(run.notes.size(), 2U);
  EXPECT_EQ(run.notes[0], "left out: a has a time of 0 s, which no run takes; 2 times of 4 count");
  EXPECT_EQ(run.notes[1], "left out: b has a time of 0 s, which no run takes; 0 times of 1 count");
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

/// "name aggregate" of the rows that remain.
std::vector<std::string> names_in(const std::string& rows) {
  std::vector<std::string> names;
  for (const GoogleRow& row :
       read_google_file(R"({"context": {}, "benchmarks": [)" + rows + "]}").rows) {
    names.push_back(row.name + (row.aggregate.empty() ? "" : " " + row.aggregate));
    if (row.outcome == GoogleRow::Outcome::ambiguous) names.back() += ": " + row.message;
  }
  return names;
}

/// Rows of these names, without types, as before version 1.5. Iterations follow a blank.
std::string old_rows(const std::vector<std::string>& names) {
  std::string rows;
  for (const std::string& name : names) {
    const std::size_t blank = name.find(' ');
    rows += std::string(rows.empty() ? "" : ",") + R"({"name": ")" + name.substr(0, blank) + '"';
    if (blank != std::string::npos) rows += R"(, "iterations": )" + name.substr(blank);
    rows += R"(, "real_time": 3})";
  }
  return rows;
}

TEST(GoogleFile, TellsAggregatesOfOldVersionsFromBenchmarksCalledSo) {
  using Names = std::vector<std::string>;
  const std::vector<std::pair<Names, Names>> cases{
      {{"A", "A", "A_mean", "A_stddev"}, {"A", "A", "A mean", "A stddev"}},
      {{"A/8", "A/8", "A/8_mean", "A/8_median", "A/8_stddev"},
       {"A/8", "A/8", "A/8 mean", "A/8 median", "A/8 stddev"}},
      {{"A_mean", "A_median", "A_stddev"}, {"A mean", "A median", "A stddev"}},
      {{"A", "A", "A_mean", "A_stddev", "A_max", "B"},
       {"A", "A", "A mean", "A stddev", "A max", "B"}},
      // Versions 1.1 and 1.2 print a standard deviation of 0 iterations, and no median.
      {{"A_mean 9", "A_stddev 0", "A_b_mean 7", "A_b_stddev 0"},
       {"A mean", "A stddev", "A_b mean", "A_b stddev"}},
      {{"A_mean 9", "A_stddev 9"}, {"A_mean", "A_stddev"}},  // two benchmarks
      {{"A_mean", "A_stddev"}, {"A_mean", "A_stddev"}},
      {{"A_mean 9", "A_median 9", "A_stddev 9"}, {"A mean", "A median", "A stddev"}},
      {{"A_mean 9", "A_median 5", "A_stddev 7"}, {"A_mean", "A_median", "A_stddev"}},
      // One repetition that was kept, or three benchmarks.
      {{"A 9", "A_mean 9", "A_stddev 9"}, {"A", "A mean", "A stddev"}},
      {{"A/repeats:3 9", "A/repeats:3_mean 9", "A/repeats:3_stddev 0"},
       {"A/repeats:3", "A/repeats:3 mean", "A/repeats:3 stddev"}},
      {{"A 9", "A_mean 8", "A_stddev 7"}, {"A", "A_mean", "A_stddev"}},
      {{"A", "A_mean"}, {"A", "A_mean"}},  // two benchmarks
      {{"A_mean"}, {"A_mean"}},            // a benchmark of that name
      // Statistics of the user's own may come first, and another benchmark may follow.
      {{"A 5", "A 5", "A_min 5", "A_max 5", "A_mean 5"}, {"A", "A", "A min", "A max", "A mean"}},
      {{"A 5", "A 5", "A_p99 5", "A_mean 5", "A_median 5", "A_stddev 5"},
       {"A", "A", "A p99", "A mean", "A median", "A stddev"}},
      {{"A 5", "A 5", "A_mean 5", "A_median 5", "A_stddev 5", "A_fast 9"},
       {"A", "A", "A mean", "A median", "A stddev", "A_fast"}}};
  for (const auto& [names, expected] : cases) EXPECT_EQ(names_in(old_rows(names)), expected);
  EXPECT_EQ(names_in(R"({"name": "A/8", "real_time": 3}, {"name": "A_BigO", "cpu_coefficient": 1,
      "real_coefficient": 1, "big_o": "N", "time_unit": "ns"}, {"name": "A_RMS", "rms": 0.1})"),
            Names{"A/8"});
}

TEST(GoogleFile, MergesNoBenchmarksOfOneName) {
  const auto row = [](const char* name, int repetition) {
    return std::string(R"({"name": ")") + name + R"(", "run_name": ")" + name +
           R"(", "run_type": "iteration", "repetition_index": )" + std::to_string(repetition) +
           R"(, "real_time": 3})";
  };
  EXPECT_EQ(names_in(row("A", 0) + "," + row("B", 0) + "," + row("A", 1)),
            (std::vector<std::string>{"A", "B", "A"}));
  EXPECT_EQ(names_in(row("A", 0) + "," + row("B", 0) + "," + row("A", 0)),
            (std::vector<std::string>{
                "A: two rows are repetition 0, so several benchmarks have this name", "B"}));
  EXPECT_EQ(
      names_in(old_rows({"A", "B", "A"})),
      (std::vector<std::string>{
          "A: its rows do not follow each other, so several benchmarks have this name", "B"}));
  const std::string no_mean =
      " rows have no mean, as repetitions have, so several benchmarks have this name";
  EXPECT_EQ(names_in(old_rows({"A", "A", "B"})),
            (std::vector<std::string>{"A: its 2" + no_mean, "B"}));
  EXPECT_EQ(names_in(old_rows({"A 1", "A 9", "A 4"})),
            (std::vector<std::string>{"A: its 3" + no_mean}));
  EXPECT_EQ(names_in(old_rows({"A_median", "A_median"})),
            (std::vector<std::string>{"A_median: its 2" + no_mean}));
  EXPECT_EQ(names_in(old_rows({"A", "A", "A_mean", "A_mean"})),
            (std::vector<std::string>{"A: its 2" + no_mean, "A_mean: its 2" + no_mean}));
  const std::string median =
      R"({"name": "A_median", "run_name": "A", "run_type": "aggregate", "aggregate_name": "median", "real_time": 3})";
  EXPECT_EQ(
      names_in(median + "," + median),
      std::vector<std::string>{"A: two rows are its median, so several benchmarks have this name"});
  const ImportedRun run = imported(R"({"context": {}, "benchmarks": [)" + row("A", 0) + "," +
                                   row("A", 0) + "," + row("B", 0) + "]}");
  EXPECT_EQ(run.points.size(), 1U);
  EXPECT_EQ(run.notes.size(), 1U);
}

TEST(GoogleFile, CallsAggregatesOfVersion14ByTheirBenchmark) {
  const auto row = [](const char* name, const char* aggregate) {
    return fmt::format(
        R"({{"name": "{}", "run_type": "aggregate", "aggregate_name": "{}", "real_time": 3}})",
        name, aggregate);
  };
  EXPECT_EQ(
      names_in(row("A/8_median", "median") + "," + row("B_p99", "p99") + "," + row("C", "mean")),
      (std::vector<std::string>{"A/8 median", "B p99", "C mean"}));
}

TEST(GoogleFile, NamesBenchmarksThatHaveOnlyOtherAggregates) {
  const ImportedRun run = imported(R"({"context": {}, "benchmarks": [)" +
                                   old_rows({"A_mean 3", "A_stddev 0", "B"}) + "]}");
  EXPECT_EQ(run.points.size(), 1U);
  EXPECT_EQ(run.notes,
            std::vector<std::string>{"left out: A has neither repetitions nor a median"});
}

/// Rows that cannot count, and what is said of them.
TEST(GoogleFile, LeavesOutABadRowByItsReasonAndTakesTheOthers) {
  for (const auto& [row, why] : std::vector<std::pair<std::string, std::string>>{
           {R"({"name": "A", "real_time": "100"})", "real_time of A is not a number"},
           {R"({"name": "A", "real_time": true})", "real_time of A is not a number"},
           {R"({"name": "A", "real_time": [1, 2]})", "real_time of A is not a number"},
           {R"({"name": "A", "real_time": 3, "time_unit": "cycles"})",
            "A: the time unit \"cycles\" is not known"},
           {R"({"name": "A", "real_time": 3, "time_unit": 7})", "A: the time unit 7 is not known"},
           {R"({"name": "A", "run_type": "warm-up", "real_time": 3})",
            "A: the run type \"warm-up\" is not known"},
           {R"({"real_time": 3})", "a row without a name"},
           {R"({"name": 5, "real_time": 3})", "a row without a name"},
           {"null", "a row without a name"},
           {R"({"name": "A", "skipped": true, "skip_message": "no AVX"})",
            "A was skipped (no AVX)"},
           {R"({"name": "A", "skipped": "skipped", "skip_message": ""})", "A was skipped"},
           {R"({"name": "A", "iterations": 9, "threads": 1})", "A: it has no times"}}) {
    const ImportedRun run =
        imported(R"({"context": {}, "benchmarks": [{"name": "B", "real_time": 5}, )" + row + "]}");
    EXPECT_EQ(run.points.size(), 1U) << row;
    ASSERT_EQ(run.notes.size(), 1U) << row;
    EXPECT_TRUE(run.notes[0].starts_with("left out: " + why)) << run.notes[0];
  }
}

TEST(GoogleFile, NamesRowsThatLackATimeWhichOthersHave) {
  const std::string both = R"({"name": "B", "real_time": 5, "cpu_time": 4})";
  for (const char* metric : {"real_time", "cpu_time"}) {
    const std::string other = metric == std::string_view("cpu_time") ? "real_time" : "cpu_time";
    const std::string row = R"({"name": "A", ")" + other + R"(": 3})";
    const ImportedRun run =
        imported(R"({"context": {}, "benchmarks": [)" + row + "," + both + "]}");
    EXPECT_EQ(run.points.size(), 3U);
    EXPECT_EQ(run.notes,
              std::vector<std::string>{fmt::format("left out: {} of A is not there", metric)});
    EXPECT_TRUE(imported(R"({"context": {}, "benchmarks": [)" + row + "]}").notes.empty());
  }
}

TEST(GoogleFile, IsNotTheJsonOfAnotherProgram) {
  for (const char* mitata : {R"({"alias": "x", "runs": []})", "3", "[]"}) {
    EXPECT_THROW((void)names_in(mitata), ConfigError) << mitata;
  }
}

TEST(GoogleFile, StillNamesTheLineOfWhatIsNoJson) {
  for (const char* damage : {"NaN1", "nano", "+NaN", "--NaN", "1NaN", "nan(", "%", "3%%%x"}) {
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

/// A file with two benchmarks. `first` follows the name of the first.
std::string file_with(const std::string& first, const std::string& context = "") {
  return "{\n  \"context\": {\n    \"num_cpus\": 2" + context +
         "\n  },\n  \"benchmarks\": [\n    {\n      \"name\": " + first +
         "\n    },\n    {\n      \"name\": \"BM_B\",\n      \"real_time\": 5.0,\n      "
         "\"cpu_time\": "
         "5.0,\n      \"time_unit\": \"us\"\n    }\n  ]\n}\n";
}

/// Rows of versions from 2016 to 2026, which are not JSON or name a counter like a key.
TEST(GoogleFile, IsReadAsItsVersionsPrintIt) {
  const std::string times = "\"real_time\": 3.0,\n\"cpu_time\": 3.0,\n\"time_unit\": \"us\"";
  struct Printed {
    const char* what;
    std::string text;
    std::string name;     ///< of the first row
    std::string message;  ///< of the first row
    bool has_time;
  };
  const std::vector<Printed> all{
      {"issue 745: a backslash in a message",
       file_with(R"("BM_A", "error_occurred": true, "error_message": "no c:\hello.txt.")"), "BM_A",
       R"(no c:\hello.txt.)", false},
      {"issue 745: a path", file_with("\"BM_A<C:\\users>\", " + times), "BM_A<C:\\users>", "",
       true},
      {"issue 745: quotes in a name", file_with("\"BM_A<\"x\">/8\",\n" + times), "BM_A<\"x\">/8",
       "", true},
      {"issue 2299: colours in a message",
       file_with("\"BM_A\", \"error_occurred\": true, \"error_message\": \"\x1b[31mbad\x1b[0m\""),
       "BM_A", "\x1b[31mbad\x1b[0m", false},
      {"issue 300: a percentage", file_with("\"BM_A\",\n" + times + ",\n\"rms\": 12%"), "BM_A", "",
       true},
      {"issue 1181: no comma before the first custom context",
       file_with("\"BM_A\",\n" + times,
                 ",\n\"library_build_type\": \"debug\"\n    \"gpu\": \"H100\""),
       "BM_A", "", true},
      {"a counter called real_time", file_with("\"BM_A\",\n" + times + ",\n\"real_time\": 7.0e+00"),
       "BM_A", "", true},
      {"counters called name, time_unit and cpu_time",
       file_with("\"BM_A\",\n" + times +
                 ",\n\"name\": 1.0e+00,\n\"time_unit\": 2.0e+00,\n\"cpu_time\": 9.0e+00"),
       "BM_A", "", true},
      {"counters called like keys that other rows have",
       file_with(
           "\"BM_A\",\n" + times +
           ",\n\"error_occurred\": 1.0,\n\"skipped\": 0.0,\n\"run_type\": 3.0,\n\"run_name\": 4.0"),
       "BM_A", "", true},
      {"numbers of C++ streams",
       file_with("\"BM_A\",\n" + times + ",\n\"a\": nan, \"b\": -nan, \"c\": inf, \"d\": -inf"),
       "BM_A", "", true},
      {"numbers of Visual C++",
       file_with("\"BM_A\",\n" + times +
                 ",\n\"a\": -nan(ind), \"b\": 1.#INF, \"c\": -1.#IND, \"d\": 1.#QNAN"),
       "BM_A", "", true}};
  for (const Printed& printed : all) {
    SCOPED_TRACE(printed.what);
    const GoogleFile file = read_google_file(printed.text);
    ASSERT_EQ(file.rows.size(), 2U);
    EXPECT_EQ(file.rows[0].name, printed.name);
    EXPECT_EQ(file.rows[0].message, printed.message);
    EXPECT_EQ(file.rows[0].values.contains("real_time"), printed.has_time);
    if (printed.has_time) EXPECT_DOUBLE_EQ(file.rows[0].values.at("real_time"), 3e-6);
    if (printed.has_time) EXPECT_DOUBLE_EQ(file.rows[0].values.at("cpu_time"), 3e-6);
    EXPECT_DOUBLE_EQ(file.rows[1].values.at("real_time"), 5e-6);
  }
}

/// Two times in `unit`, as one file prints them.
struct PrintedTimes {
  std::string first;
  std::string second;
  std::string unit;
  double rounding;  ///< s, of the first
};
class GoogleDigits : public testing::TestWithParam<PrintedTimes> {};

TEST_P(GoogleDigits, AreThoseOfTheFileWithTheMost) {
  const PrintedTimes& printed = GetParam();
  const auto row = [&printed](const char* name, const std::string& time) {
    return fmt::format(R"({{"name": "{}", "real_time": {}, "cpu_time": {}, "time_unit": "{}"}})",
                       name, time, time, printed.unit);
  };
  const std::string text =
      fmt::format(R"({{"context": {{}}, "benchmarks": [{}, {}]}})",
                  row(R"(BM_\"real_time\": 1.23)", printed.first), row("BM_B", printed.second));
  const GoogleFile file = read_google_file(text);
  EXPECT_DOUBLE_EQ(file.rounding(file.rows.at(0), google_metrics.front()), printed.rounding);
  EXPECT_DOUBLE_EQ(imported(text).points.at(0).point.rounding, printed.rounding);
}

INSTANTIATE_TEST_SUITE_P(
    Versions, GoogleDigits,
    testing::Values(PrintedTimes{"1", "20", "ns", 0.5e-9},       // before 1.4
                    PrintedTimes{"3", "40", "us", 0.5e-6},       // the same, ->Unit()
                    PrintedTimes{"1", "20.25", "ns", 0.5e-11},   // zeros left out
                    PrintedTimes{"0.01", "0.02", "us", 0.5e-8},  // two digits
                    PrintedTimes{"1.0000000000000000e+00", "2.0000000000000000e+00", "ns", 0},
                    PrintedTimes{"1.50e+01", "2.25e+03", "ns", 0.5e-10},
                    PrintedTimes{"31270000", "1", "ns", 0}));  // a millionth does not matter

TEST(GoogleFile, LeavesStrictJsonAsItIs) {
  const std::string text = file_with(
      R"("BM \"q\" \\ \u00e9 \/ \n", "label": "a: \"b\", {[", "x": [ ], "y": {"a": -1.5e-3, "b": null})"
      ", \"z\" : \"\"");
  EXPECT_EQ(strict_json(text), text);
  EXPECT_TRUE(nlohmann::json::accept(text));
}

TEST(GoogleFile, RefusesNestingThatWouldExhaustTheStack) {
  const std::string deep = std::string(300'000, '[') + std::string(300'000, ']');
  EXPECT_THROW((void)read_google_file("{\"context\": {\"a\": " + deep + "}, \"benchmarks\": []}"),
               ConfigError);
}

}  // namespace
}  // namespace dlscale::regression::history
