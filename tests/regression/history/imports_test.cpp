#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/results/measurement.hpp"
#include "core/text/time_text.hpp"
#include "histories.hpp"
#include "regression/history/run.hpp"
#include "regression/import/content_kind.hpp"
#include "regression/import/google/google_file.hpp"
#include "regression/import/imports.hpp"
#include "regression/import/printed_json.hpp"
#include "regression/import/result_run.hpp"

namespace dlscale::regression::history {
namespace {

using samples::TemporaryFolder;

ImportedRun read_text(std::string_view text, RunOptions options = {}) {
  const TemporaryFolder folder;
  samples::write_text(folder / "run", text);
  if (options.commit.empty()) options.commit = "c1";
  if (!options.time) options.time = 1'700'000'000;
  return read_run((folder / "run").string(), options);
}

/// The error of reading it.
std::string refusal(std::string_view text, const RunOptions& options = {}) {
  try {
    (void)read_text(text, options);
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

const KeyedPoint* find(const ImportedRun& run, std::string_view metric, const Facts& axes) {
  for (const KeyedPoint& point : run.points) {
    bool same = point.key.metric == metric;
    for (const auto& [name, value] : axes) {
      const auto found = point.key.axes.find(name);
      same = same && found != point.key.axes.end() && found->second == value;
    }
    if (same) return &point;
  }
  return nullptr;
}

constexpr std::string_view google = R"({
  "context": {"date": "2026-01-31T12:00:00+01:00", "host_name": "h", "executable": "/a/b/bench",
    "num_cpus": 2, "mhz_per_cpu": 2400, "cpu_scaling_enabled": false, "library_build_type": "release",
    "caches": [{"type": "Data", "level": 1, "size": 32768, "num_sharing": 1}], "load_avg": [0.5]},
  "benchmarks": [
    {"name": "BM_A/8", "run_name": "BM_A/8", "run_type": "iteration", "repetitions": 3,
     "repetition_index": 0, "iterations": 10, "real_time": 3.0, "cpu_time": 2.0, "time_unit": "us",
     "bytes_per_second": 5e9, "my_counter": 4},
    {"name": "BM_A/8", "run_name": "BM_A/8", "run_type": "iteration", "repetition_index": 1,
     "real_time": 1.0, "cpu_time": 2.0, "time_unit": "us", "bytes_per_second": 7e9},
    {"name": "BM_A/8", "run_name": "BM_A/8", "run_type": "iteration", "repetition_index": 2,
     "real_time": 2.0, "cpu_time": 2.0, "time_unit": "us", "bytes_per_second": 6e9},
    {"name": "BM_A/8_median", "run_name": "BM_A/8", "run_type": "aggregate",
     "aggregate_name": "median", "real_time": 99.0, "cpu_time": 2.0, "time_unit": "us"},
    {"name": "BM_B_median", "run_name": "BM_B", "run_type": "aggregate", "aggregate_name": "median",
     "real_time": 4.0, "cpu_time": 4.0, "time_unit": "ms"},
    {"name": "BM_B_stddev", "run_name": "BM_B", "run_type": "aggregate", "aggregate_name": "stddev",
     "real_time": 0.1, "cpu_time": 0.1, "time_unit": "ms"},
    {"name": "BM_C", "run_name": "BM_C", "run_type": "iteration", "error_occurred": true,
     "error_message": "no device", "real_time": 1, "cpu_time": 1, "time_unit": "ns"}
  ]})";

TEST(GoogleBenchmark, TakesRepetitionsAndMediansWhereThereAreNone) {
  const ImportedRun run = read_text(google);
  const KeyedPoint* time = find(run, "real_time", {{"benchmark", "BM_A/8"}});
  ASSERT_NE(time, nullptr);
  EXPECT_DOUBLE_EQ(time->point.summary.median, 2e-6);
  EXPECT_EQ(time->point.summary.n, 3U);
  EXPECT_EQ(time->key.unit, "s");
  EXPECT_EQ(time->key.axes.at("program"), "bench");
  EXPECT_EQ(time->key.machine.at("cores"), "2");
  const KeyedPoint* rate = find(run, "bytes_per_second", {{"benchmark", "BM_A/8"}});
  ASSERT_NE(rate, nullptr);
  EXPECT_EQ(rate->key.direction, Direction::larger_is_better);
  EXPECT_EQ(rate->point.summary.median, 6e9);
  const KeyedPoint* median = find(run, "real_time", {{"benchmark", "BM_B"}});
  ASSERT_NE(median, nullptr);
  EXPECT_DOUBLE_EQ(median->point.summary.median, 4e-3);
  EXPECT_EQ(median->point.summary.n, 1U);
}

TEST(GoogleBenchmark, LeavesOutWhatFailedAndCountersWithoutADirection) {
  const ImportedRun run = read_text(google);
  EXPECT_EQ(find(run, "my_counter", {}), nullptr);
  EXPECT_EQ(find(run, "real_time", {{"benchmark", "BM_C"}}), nullptr);
  ASSERT_EQ(run.notes.size(), 1U);
  EXPECT_NE(run.notes[0].find("no device"), std::string::npos);
}

TEST(GoogleBenchmark, LeavesOutTimesThatCannotBe) {
  for (const char* time : {"-5", "0", "1e300"}) {
    const ImportedRun run = read_text(
        R"({"context": {}, "benchmarks": [{"name": "BM_A", "cpu_time": 1, "real_time": )" +
        std::string(time) + R"(}, {"name": "BM_B", "cpu_time": 0, "real_time": 1}]})");
    EXPECT_EQ(run.points.size(), 2U) << time;
    EXPECT_EQ(find(run, "real_time", {{"benchmark", "BM_A"}}), nullptr);
    ASSERT_EQ(run.notes.size(), 2U);
    EXPECT_NE(run.notes[0].find("left out: real_time of BM_A is "), std::string::npos);
    EXPECT_EQ(run.notes[1], "left out: cpu_time of BM_B is 0");
  }
}

TEST(GoogleBenchmark, TakesItsDateAndWantsACommit) {
  const TemporaryFolder folder;
  samples::write_text(folder / "run.json", google);
  RunOptions options;
  EXPECT_THROW((void)read_run((folder / "run.json").string(), options), ConfigError);
  options.commit = "c1";
  EXPECT_EQ(read_run((folder / "run.json").string(), options).time,
            parse_time("2026-01-31T11:00:00Z", "it"));
}

TEST(GoogleBenchmark, NamesTheLineOfDamage) {
  EXPECT_NE(refusal(google.substr(0, google.size() / 2)).find("ends within line"),
            std::string::npos);
}

constexpr std::string_view validation = R"({"schema": "dlscale.validation", "version": 1, "runs": [
  {"key": "e2e ranks=2", "run": {"network": "alexnet", "ranks": 2, "batch": 8, "credit": null},
   "links": null, "backend": "onednn", "errors": [-0.1, 0.05, 0.02],
   "phases": [{"phase": "t_iter", "predicted_s": 1.02, "measured_s": 1.0}]}]})";

TEST(ValidationRun, TracksThePredictionErrorOfEveryCell) {
  const ImportedRun run = read_text(validation);
  ASSERT_EQ(run.points.size(), 1U);
  const auto& [key, point] = run.points[0];
  EXPECT_DOUBLE_EQ(point.summary.median, 1.02);
  EXPECT_EQ(key.direction, Direction::steady);
  EXPECT_EQ(key.launch.at("ranks"), "2");
  EXPECT_EQ(key.axes.at("network"), "alexnet");
  EXPECT_FALSE(key.axes.contains("credit"));
  std::string text(validation);
  text.replace(text.find("-0.1"), 4, "-1.5");
  EXPECT_NE(refusal(text).find("-1.5"), std::string::npos);
}

TEST(ReadRun, RefusesWhatItDoesNotKnowAndNamesWhatItReads) {
  constexpr std::string_view asv = R"({"results": {"a.time_x": [[1]]}, "commit_hash": "c"})";
  constexpr std::string_view megatron = "iteration 1/2 | elapsed time per iteration (ms): 9.0 |";
  for (const std::string_view text :
       {"", "hello", "{}", "[1, 2]", "{\"schema\":\"other\"}", asv.data(), megatron.data()}) {
    const std::string problem = refusal(text);
    EXPECT_NE(problem.find("is not in a format that a history reads"), std::string::npos) << text;
    EXPECT_NE(problem.find("hyperfine (--export-json), text of nccl-tests"), std::string::npos);
  }
  EXPECT_THROW((void)read_run("/nowhere/run.json", {}), ConfigError);
}

TEST(ReadRun, AddsWhatThePersonSaysToTheKey) {
  RunOptions options;
  options.machine["GPU"] = "A100";
  options.environment["driver"] = "535";
  options.launch["nodes"] = "2";
  options.run = "nightly 3";
  const ImportedRun run = read_text(google, options);
  EXPECT_EQ(run.points[0].key.machine.at("GPU"), "A100");
  EXPECT_EQ(run.points[0].key.environment.at("driver"), "535");
  EXPECT_EQ(run.points[0].key.launch.at("nodes"), "2");
  EXPECT_EQ(run.facts.at("run"), "nightly 3");
}

ResultFile training() {
  ResultFile file;
  file.complete = true;
  file.header.benchmark = "e2e";
  file.header.command = {"dlscale", "bench", "e2e"};
  file.header.run = {{"ranks", "2"}, {"comm", "mpi"}};
  file.header.environment.cpu = "a processor";
  file.header.environment.cores = 2;
  file.header.environment.memory_bytes = 25276502016.0;
  file.header.environment.libraries = {{"oneDNN", "2.6.3"}, {"GPU", "H100"}};
  file.header.environment.variables = {{"OMP_NUM_THREADS", "1"}, {"DLSCALE_CONFIGS", "/x"}};
  Measurement measurement;
  measurement.benchmark = "e2e";
  measurement.axes = {{"network", "alexnet"}, {"repeat", "3"}, {"ranks", "2"}};
  for (const char* name : {"t_iter", "t_f"}) {
    measurement.series[name] = make_series("s", {{1.0, 2.0, 3.0}, {1.5, 2.5, 2.0}});
  }
  measurement.series["loss"] = make_series("1", {{1.0}, {1.0}});
  measurement.series["processor_clock"] = make_series("Hz", {{1e9, 3e9}, {2e9, 2e9}});
  measurement.series["throttle_reasons"] = make_series("1", {{4, 8}, {0, 0}});
  file.measurements.push_back(measurement);
  measurement.status = Status::wrong;
  measurement.series.clear();
  measurement.reason = "differs";
  file.measurements.push_back(measurement);
  return file;
}

TEST(ResultRun, SortsFactsIntoMachineEnvironmentAndLaunch) {
  ImportedRun run;
  add_points(run, training());
  ASSERT_EQ(run.points.size(), 2U);
  const SeriesKey& key = run.points[1].key;
  EXPECT_EQ(key.metric, "t_iter");
  EXPECT_FALSE(key.is_detail());
  EXPECT_TRUE(run.points[0].key.is_detail());
  EXPECT_EQ(key.axes, (Facts{{"network", "alexnet"}}));
  EXPECT_EQ(key.machine.at("GPU"), "H100");
  EXPECT_EQ(key.machine.at("memory"), "24 GiB");
  EXPECT_EQ(key.environment.at("oneDNN"), "2.6.3");
  EXPECT_EQ(key.environment.at("OMP_NUM_THREADS"), "1");
  EXPECT_FALSE(key.environment.contains("DLSCALE_CONFIGS"));
  EXPECT_EQ(key.launch.at("ranks"), "2");
  EXPECT_EQ(key.launch.at("comm"), "mpi");
  // The slowest rank of each iteration.
  EXPECT_EQ(run.points[1].point.summary.median, 2.5);
  EXPECT_EQ(run.points[1].point.extras,
            R"({"processor_clock":[2000000000.0,2000000000.0],"throttle_reasons":[12,0]})");
  ASSERT_EQ(run.notes.size(), 1U);
  EXPECT_NE(run.notes[0].find("differs"), std::string::npos);
}

TEST(ResultRun, MarksWhatWasBuiltWithLocalChanges) {
  Environment environment;
  EXPECT_EQ(measured_commit(environment), "");
  environment.commit = "unknown";
  EXPECT_EQ(measured_commit(environment), "");
  environment.commit = "c1";
  EXPECT_EQ(measured_commit(environment), "c1");
  environment.dirty = true;
  EXPECT_EQ(measured_commit(environment), "c1-dirty");
}

TEST(Origin, SaysWhereTheOptionsNameAnotherCommitThanTheFile) {
  for (const auto& [stated, notes] :
       {std::pair{"", 0U}, std::pair{"b1c0ffee", 0U}, std::pair{"b1c0ffee12345678", 0U},
        std::pair{"b1c0ffee-dirty", 1U}, std::pair{"a1c0ffee", 1U}}) {
    ImportedRun run;
    RunOptions options;
    options.commit = "b1c0ffee";
    options.time = 1'700'000'000;
    set_origin(run, options, stated, std::nullopt);
    EXPECT_EQ(run.commit, "b1c0ffee");
    EXPECT_EQ(run.notes.size(), notes) << stated;
  }
}

TEST(ContentKind, IsToldByTheOutermostKeys) {
  using enum ContentKind;
  const std::vector<std::pair<std::string, ContentKind>> texts{
      {R"({"version": 7, "run": {"schema": "x"}, "schema": "dlscale.result"})"
       "\n{\"end\": true}\n",
       result},
      {R"({"schema": "dlscale.validation", "runs": []})", validation},
      {R"({"schema": "dlscale.gate", "results": []})", unknown},
      {R"({"benchmarks": [], "context": {}})", google_benchmark},
      {R"( {"context": {"results": []}, "benchmarks": [NaN)", google_benchmark},
      {R"({"results": [{"command": "x"}]})", hyperfine},
      {R"({"results": {"a.time_x": 1}, "commit_hash": "c"})", unknown},
      {R"x({"results": [{"title": "x", "median(elapsed)": 1}]})x", unknown},
      {R"({"results": [{"size": 8, "redop": "sum"}], "out_of_bounds": {}})", unknown},
      {R"({"version": 1, "env": [], "nccl_version": 22902, "results": [)", nccl_tests},
      {R"({"a": {"schema": "dlscale.result"}, "b": [{"context": 1, "benchmarks": 2}]})", unknown},
      {R"({"schema": 1})", unknown},
      {"{}", unknown},
      {"[]", unknown},
      {"null", unknown},
      {"", unknown},
      {"# nThread 1", nccl_tests},
      {":::MLLOG {}", mllog},
      {"elapsed time per iteration (ms): 1", unknown},
  };
  for (const auto& [text, kind] : texts) EXPECT_EQ(kind_of_content(text), kind) << text;
}

TEST(ContentKind, OfDamageIsWhatItsBeginningCallsFor) {
  using enum ContentKind;
  const std::vector<std::pair<std::string, ContentKind>> texts{
      {R"({"version": nonsense, "schema":"dlscale.result"})", result},
      {R"({"context": {"a": )", google_benchmark},
      {R"({"commit_hash": "c", "date": )", unknown},
      {R"({"results": )", hyperfine},
      {R"({"schema": "dlsc)", unknown},
      {"{", unknown},
  };
  for (const auto& [text, kind] : texts) EXPECT_EQ(kind_of_content(text), kind) << text;
}

TEST(ContentKind, OfWhatIsNoFileIsUnknown) {
  const samples::TemporaryFolder folder;
  EXPECT_EQ(kind_of_file(folder.path()), ContentKind::unknown);
  EXPECT_EQ(kind_of_file(folder / "none.json"), ContentKind::unknown);
  samples::write_text(folder / "a.json", R"({"results": []})");
  EXPECT_EQ(kind_of_file(folder / "a.json"), ContentKind::hyperfine);
}

TEST(StrictJson, HasNullForBareWordsAndNotForThoseInStrings) {
  EXPECT_EQ(strict_json("[NaN, -NaN,Infinity,\n-Infinity]"), "[null, null,null,\nnull]");
  EXPECT_EQ(strict_json("[nan, -nan, inf]"), "[null, null, null]");
  for (const std::string_view same :
       {R"({"NaN": "Infinity", "a\"NaN": "\\", "b": 1})", R"("\\\"NaN\\")", "[1e5, -2, true]",
        "[xNaN, NaN1, Infinity_, 1NaN]", R"("not closed NaN)", ""}) {
    EXPECT_EQ(strict_json(same), same);
  }
  EXPECT_EQ(strict_json(R"({"a\\": NaN})"), R"({"a\\": null})");
}

TEST(StrictJson, ChangesNothingThatIsJson) {
  std::mt19937 draw(7);
  const std::vector<std::string> pieces{"NaN", "Infinity", "-", "\\", "\"", "n", " ", ",", "é"};
  std::uniform_int_distribution<std::size_t> piece(0, pieces.size() - 1);
  for (int i = 0; i < 2000; ++i) {
    std::string name;
    for (int k = 0; k < 6; ++k) name += pieces[piece(draw)];
    const std::string text = nlohmann::json{{name, {{"value", name}}}, {"x", -1.5}}.dump(1);
    ASSERT_EQ(strict_json(text), text);
  }
}

}  // namespace
}  // namespace dlscale::regression::history
