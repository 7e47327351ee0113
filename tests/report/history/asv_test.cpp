#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "histories.hpp"
#include "report/history/asv_benchmarks.hpp"
#include "report/history/imports.hpp"
#include "report/history/run.hpp"
#include "report/history/time_text.hpp"

namespace dlscale::report::history {
namespace {

using samples::TemporaryFolder;

/// Written by hand after the schema of asv 0.6 (docs/source/dev.rst and Results.save() of
/// asv/results.py): null failed, NaN was skipped, columns at the end may be missing.
constexpr std::string_view version_2 =
    R"({"commit_hash": "0123456789abcdef", "env_name": "virtualenv-py3.9-numpy1.21",
 "date": 1700000000000, "params": {"arch": "x86_64", "cpu": "A processor", "machine": "m1",
  "num_cpu": "8", "os": "Linux 5.4", "ram": "16416652", "python": "3.9", "numpy": "1.21"},
 "python": "3.9", "requirements": {"numpy": "1.21", "six": ""}, "env_vars": {"OMP_NUM_THREADS": "2"},
 "result_columns": ["result", "params", "version", "started_at", "duration", "stats_ci_99_a",
  "stats_ci_99_b", "stats_q_25", "stats_q_75", "stats_number", "stats_repeat", "samples", "profile"],
 "results": {
  "suite.Sort.time_sort": [[2e-6, NaN, 3e-6, null, NaN, 7e-6],
    [["10", "20"], ["'range'", "'1'", "1"]], "v1", 1700000001000, 1.5,
    [1e-6, null, -Infinity, null, null, 1e-6], [4e-6, null, Infinity, null, null, 8e-6],
    [1.5e-6, null, 3e-6, null, null, 7e-6], [2.5e-6, null, 3e-6, null, null, 7e-6],
    [100, null, 1, null, null, 10], [3, null, 1, null, null, 3],
    [[1e-6, 2e-6, 3e-6], null, null, null, null, null]],
  "suite.peakmem_load": [[52428800], [], "v2"],
  "suite.track_loss": [[0.25], [], "v3"],
  "suite.Broken.time_it": [null, [["1", "2"]], "v4"]},
 "durations": {"<build>": 3.5}, "version": 2})";

constexpr std::string_view benchmarks = R"({
 "suite.Sort.time_sort": {"name": "suite.Sort.time_sort", "param_names": ["n", "kind"],
  "params": [["10", "20"], ["'range'", "'1'", "1"]], "type": "time", "unit": "seconds"},
 "suite.peakmem_load": {"param_names": [], "params": [], "type": "peakmemory", "unit": "bytes"},
 "suite.track_loss": {"param_names": [], "params": [], "type": "track", "unit": "nats"},
 "version": 2})";

/// RESULTS/m1/FILE.json, with RESULTS/benchmarks.json where that is not empty.
ImportedRun imported(std::string_view text, std::string_view described = benchmarks,
                     const RunOptions& options = {}) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "m1");
  samples::write_text(folder / "m1/01234567-py3.9.json", text);
  if (!described.empty()) samples::write_text(folder / "benchmarks.json", described);
  return read_run((folder / "m1/01234567-py3.9.json").string(), options);
}

std::string refusal(std::string_view text, std::string_view described = benchmarks) {
  try {
    (void)imported(text, described);
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string replaced(std::string_view text, std::string_view part, std::string_view by) {
  std::string result(text);
  const std::size_t at = result.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return result.replace(at, part.size(), by);
}

const KeyedPoint* find(const ImportedRun& run, const Facts& axes) {
  const auto has = [&](const KeyedPoint& point) { return point.key.axes == axes; };
  const auto found = std::ranges::find_if(run.points, has);
  return found == run.points.end() ? nullptr : &*found;
}

bool is_noted(const ImportedRun& run, std::string_view part) {
  return std::ranges::any_of(run.notes, [&](const auto& note) { return contains(note, part); });
}

TEST(Asv, TakesSamplesWhereTheFileKeepsThemAndElseItsMedianWithItsStatistics) {
  const ImportedRun run = imported(version_2);
  ASSERT_EQ(run.points.size(), 5U);
  const KeyedPoint* sampled =
      find(run, {{"benchmark", "suite.Sort.time_sort"}, {"n", "10"}, {"kind", "'range'"}});
  ASSERT_NE(sampled, nullptr);
  EXPECT_EQ(sampled->point.summary.n, 3U);
  EXPECT_DOUBLE_EQ(sampled->point.summary.median, 2e-6);
  EXPECT_EQ(sampled->point.extras, "");
  const KeyedPoint* alone =
      find(run, {{"benchmark", "suite.Sort.time_sort"}, {"n", "20"}, {"kind", "1"}});
  ASSERT_NE(alone, nullptr) << "the last parameter varies fastest";
  EXPECT_EQ(alone->point.summary.n, 1U);
  EXPECT_DOUBLE_EQ(alone->point.summary.median, 7e-6);
  EXPECT_EQ(alone->point.extras,
            R"({"stats_ci_99_a":1e-06,"stats_ci_99_b":8e-06,"stats_number":10,)"
            R"("stats_q_25":7e-06,"stats_q_75":7e-06,"stats_repeat":3})");
  const KeyedPoint* unbounded =
      find(run, {{"benchmark", "suite.Sort.time_sort"}, {"n", "10"}, {"kind", "1"}});
  ASSERT_NE(unbounded, nullptr);
  EXPECT_FALSE(contains(unbounded->point.extras, "ci_99")) << unbounded->point.extras;
}

TEST(Asv, KnowsUnitsAndDirectionsByTheDescriptionOfTheBenchmarks) {
  const ImportedRun run = imported(version_2);
  const KeyedPoint* time =
      find(run, {{"benchmark", "suite.Sort.time_sort"}, {"n", "10"}, {"kind", "'range'"}});
  ASSERT_NE(time, nullptr);
  EXPECT_EQ(time->key.metric, "time");
  EXPECT_EQ(time->key.unit, "s");
  EXPECT_EQ(time->key.better, Better::smaller);
  const KeyedPoint* memory = find(run, {{"benchmark", "suite.peakmem_load"}});
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory->key.unit, "B");
  EXPECT_EQ(memory->key.better, Better::smaller);
  const KeyedPoint* tracked = find(run, {{"benchmark", "suite.track_loss"}});
  ASSERT_NE(tracked, nullptr);
  EXPECT_EQ(tracked->key.unit, "nats");
  EXPECT_EQ(tracked->key.better, Better::steady) << "asv lets it declare no direction";
}

TEST(Asv, TellsMachinesEnvironmentsAndVersionsOfABenchmarkApart) {
  const ImportedRun run = imported(version_2);
  EXPECT_EQ(run.commit, "0123456789abcdef");
  EXPECT_EQ(run.time, parse_time("2023-11-14T22:13:20Z", "it"));
  EXPECT_EQ(run.format, "asv");
  EXPECT_EQ(run.facts.at("os"), "Linux 5.4");
  const KeyedPoint* memory = find(run, {{"benchmark", "suite.peakmem_load"}});
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory->key.machine, (Facts{{"arch", "x86_64"},
                                        {"cpu", "A processor"},
                                        {"machine", "m1"},
                                        {"num_cpu", "8"},
                                        {"ram", "16416652"}}));
  EXPECT_EQ(memory->key.environment, (Facts{{"OMP_NUM_THREADS", "2"},
                                            {"benchmark version", "v2"},
                                            {"env_name", "virtualenv-py3.9-numpy1.21"},
                                            {"numpy", "1.21"},
                                            {"python", "3.9"},
                                            {"six", ""}}));
}

TEST(Asv, TellsOfWhatFailedAndWhatWasSkippedAndAddsNeither) {
  const ImportedRun run = imported(version_2);
  EXPECT_EQ(run.notes,
            (std::vector<std::string>{
                "left out: suite.Broken.time_it failed",
                "left out: suite.Sort.time_sort(n=20, kind='range') failed",
                "left out: 2 cases that were skipped, suite.Sort.time_sort(n=10, kind='1') "
                "the first of them"}));
}

TEST(Asv, KnowsTimesByTheirNamesWhereNothingDescribesThem) {
  const ImportedRun run = imported(version_2, "");
  ASSERT_EQ(run.points.size(), 4U);
  EXPECT_NE(find(run, {{"benchmark", "suite.Sort.time_sort"}, {"param1", "10"}, {"param2", "1"}}),
            nullptr);
  const KeyedPoint* memory = find(run, {{"benchmark", "suite.peakmem_load"}});
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory->key.unit, "B");
  EXPECT_TRUE(is_noted(run, "left out: suite.track_loss has no unit by its name"));
  EXPECT_TRUE(is_noted(run, "no benchmarks.json lies beside the folder of "));
  EXPECT_EQ(asv_quantity("a.Timeraw_import").type, "time");
  EXPECT_EQ(asv_quantity("a.B.TimeSort").type, "time");
  EXPECT_EQ(asv_quantity("a.mem_list").unit, "B");
  EXPECT_EQ(asv_quantity("a.PeakMemLoad").type, "peakmemory");
  EXPECT_EQ(asv_quantity("time_a.Timely").type, "");
}

/// Of version 1, which asv wrote before 0.5: a number alone, or a dictionary
/// (Results.update_to_2() of asv/results.py).
TEST(Asv, ReadsVersion1) {
  const ImportedRun run = imported(R"({"commit_hash": "c1", "date": 1386688801000,
 "params": {"machine": "m1", "ram": 8804682956.8}, "python": "2.7", "requirements": {},
 "benchmark_version": {"a.time_y": "v9"},
 "results": {"a.time_x": 6.5e-05, "a.mem_x": 728, "a.time_failed": null, "a.time_skipped": NaN,
  "a.time_y": {"result": [1e-3, 2e-3], "params": [["1", "2"]],
   "stats": [{"ci_99": [0.9e-3, 1.1e-3], "q_25": 1e-3, "q_75": 1e-3, "number": 1, "repeat": 9}, null]},
  "a.time_z": {"result": 4e-3}}, "version": 1})");
  EXPECT_EQ(run.points.size(), 5U);
  EXPECT_EQ(run.notes.size(), 2U);
  const KeyedPoint* plain = find(run, {{"benchmark", "a.time_x"}});
  ASSERT_NE(plain, nullptr);
  EXPECT_EQ(plain->point.summary.median, 6.5e-05);
  EXPECT_EQ(plain->key.machine.at("ram"), "8804682956.8");
  const KeyedPoint* first = find(run, {{"benchmark", "a.time_y"}, {"param1", "1"}});
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->key.environment.at("benchmark version"), "v9");
  EXPECT_EQ(first->point.extras,
            R"({"stats_ci_99_a":0.0009,"stats_ci_99_b":0.0011,"stats_number":1,)"
            R"("stats_q_25":0.001,"stats_q_75":0.001,"stats_repeat":9})");
}

TEST(Asv, RefusesTimesAndMemoryThatCannotBe) {
  for (const std::string time : {"0", "-5"}) {
    const std::string problem = refusal(replaced(version_2, "[2e-6,", "[" + time + ","));
    EXPECT_TRUE(contains(problem, "suite.Sort.time_sort(n=10, kind='range') has a time of " + time +
                                      " s, which no run takes. Measure again"))
        << problem;
  }
  EXPECT_TRUE(contains(refusal(replaced(version_2, "[[1e-6, 2e-6", "[[-1e-6, 2e-6")),
                       "a time of -1e-06 s"));
  EXPECT_TRUE(contains(refusal(replaced(version_2, "52428800", "-1")), "a peakmemory of -1 B"));
}

TEST(Asv, LeavesOutWhatIsNoNumberOrHasNoRatio) {
  for (const char* odd : {"\"fast\"", "true", "Infinity", "{\"a\": 1}", "[1]"}) {
    const ImportedRun run = imported(replaced(version_2, "0.25", odd));
    EXPECT_EQ(run.points.size(), 4U) << odd;
    EXPECT_TRUE(is_noted(run, "left out: suite.track_loss is no number")) << odd;
  }
  for (const char* odd : {"0.0", "-3"}) {
    const ImportedRun run = imported(replaced(version_2, "0.25", odd));
    EXPECT_TRUE(is_noted(run, "left out: suite.track_loss is not above 0")) << odd;
  }
}

TEST(Asv, TakesTheResultAloneWhereSamplesAreNotWhatItIsTheMedianOf) {
  for (const auto& [samples, note] :
       {std::pair{"[[4e-6, 5e-6, 6e-6]", "has samples whose median is not its result"},
        std::pair{"[[NaN, 2e-6]", "has samples that are no numbers"}}) {
    const ImportedRun run = imported(replaced(version_2, "[[1e-6, 2e-6, 3e-6]", samples));
    EXPECT_TRUE(is_noted(run, note));
    const KeyedPoint* point =
        find(run, {{"benchmark", "suite.Sort.time_sort"}, {"n", "10"}, {"kind", "'range'"}});
    ASSERT_NE(point, nullptr);
    EXPECT_EQ(point->point.summary.n, 1U);
    EXPECT_EQ(point->point.summary.median, 2e-6);
    EXPECT_TRUE(contains(point->point.extras, "stats_repeat"));
  }
}

TEST(Asv, RefusesListsThatAreNotOfTheCasesOfTheirParameters) {
  EXPECT_TRUE(contains(refusal(replaced(version_2, "[2e-6, NaN,", "[2e-6,")),
                       "the parameters of suite.Sort.time_sort have not as many combinations as it "
                       "has results"));
  EXPECT_TRUE(
      contains(refusal(replaced(version_2, "3e-6], null,", "3e-6],")), "as it has samples"));
  EXPECT_TRUE(contains(refusal(replaced(version_2, "\"20\"]", "\"20\"], []")), "combinations"));
  // So many that nobody could count them, and a product that is 2 modulo 2^64.
  std::string many = "[[\"1\"]";
  for (int i = 0; i < 80; ++i) many += R"(, ["1", "2", "3", "4", "5", "6", "7", "8"])";
  EXPECT_TRUE(contains(refusal(replaced(version_2, "[[\"10\", \"20\"]", many)), "combinations"));
}

TEST(Asv, GivesParametersOfOneNameNamesOfTheirOwn) {
  const ImportedRun run = imported(
      version_2, replaced(benchmarks, R"(["n", "kind"])", R"(["benchmark", "benchmark"])"));
  EXPECT_NE(find(run, {{"benchmark", "suite.Sort.time_sort"},
                       {"benchmark'", "'range'"},
                       {"benchmark''", "10"}}),
            nullptr);
}

TEST(Asv, NamesDamageAndItsLine) {
  EXPECT_TRUE(contains(refusal(version_2.substr(0, version_2.size() / 2)), "ends within line"));
  EXPECT_TRUE(contains(refusal(replaced(version_2, "NaN, 3e-6", "NaN1, 3e-6")), "line 8"))
      << refusal(replaced(version_2, "NaN, 3e-6", "NaN1, 3e-6"));
  EXPECT_TRUE(contains(refusal(replaced(version_2, "\"version\": 2", "\"version\": 3")),
                       "of version 3 of asv's format"));
  EXPECT_TRUE(contains(refusal(replaced(version_2, "1700000000000", "-1")), "date"));
  EXPECT_TRUE(contains(refusal(replaced(version_2, "1700000000000", "1e300")), "date"));
  EXPECT_NE(refusal(replaced(version_2, "\"date\": 1700000000000", "\"date\": null")), "");
  EXPECT_NE(refusal(replaced(version_2, "[52428800]", "52428800")), "");
  EXPECT_NE(refusal(replaced(version_2, "[[0.25], [], \"v3\"]", "\"v3\"")), "");
  for (const char* damage : {"[1, 2]", "{\"a\":", ""}) {
    const std::string problem = refusal(version_2, damage == std::string_view() ? " " : damage);
    EXPECT_TRUE(contains(problem, "benchmarks.json (")) << problem;
  }
}

TEST(Asv, TellsThatTheFilesBesideResultsAreNone) {
  EXPECT_TRUE(contains(refusal(R"({"arch": "x86_64", "machine": "m1", "version": 1})"),
                       "without machine.json"));
  EXPECT_TRUE(contains(refusal(benchmarks), "in no format that a history takes"));
}

}  // namespace
}  // namespace dlscale::report::history
