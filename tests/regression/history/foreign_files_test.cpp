#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "histories.hpp"
#include "regression/history/run.hpp"

namespace dlscale::regression::history {
namespace {

ImportedRun read_file(std::string_view text) {
  const samples::TemporaryFolder folder;
  samples::write_text(folder / "run", text);
  RunOptions options;
  options.commit = "c1";
  options.time = 1'700'000'000;
  return read_run((folder / "run").string(), options);
}

std::string problem_of(std::string_view text) {
  try {
    (void)read_file(text);
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

std::string notes_of(const ImportedRun& run) {
  std::string notes;
  for (const std::string& note : run.notes) notes += note + "\n";
  return notes;
}

std::vector<double> medians_of(const ImportedRun& run) {
  std::vector<double> medians;
  for (const KeyedPoint& point : run.points) medians.push_back(point.point.summary.median);
  return medians;
}

/// Names may hold line breaks, bytes that are not UTF-8, and marks that deceive.
TEST(Notes, ArePlainLinesWhateverNamesHold) {
  const std::string table =
      "\n# nThread 1\n# size count type redop root time algbw busbw #wrong time algbw busbw "
      "#wrong\n"
      "1024 256 float sum -1 45.80 0.02 0.02 0 43.80 0.02 0.03 7\n"
      "# Out of bounds values : 1 FAILED\n";
  for (const std::string& text :
       {"# Collective test starting: all_re\x8b"
        "ce_perf" +
            table,
        "# Collective test starting: all\u202Eecuder_perf" + table,
        std::string(R"({"context":{},"benchmarks":[{"name":"a\nb","error_occurred":true},
            {"name":"c","real_time":1,"time_unit":"ns"}]})"),
        std::string(R"({"context":{},"benchmarks":[{"name":"a\u001b[2J","skipped":true},
            {"name":"c","real_time":1,"time_unit":"ns"}]})"),
        std::string(
            R"({"results":[{"command":"a\nb","times":[]},{"command":"c","times":[1]}]})")}) {
    const ImportedRun run = read_file(text);
    // A name that no program of nccl-tests has is noted, too.
    EXPECT_EQ(run.notes.size(), text.starts_with('#') ? 2U : 1U);
    for (const std::string& note : run.notes) EXPECT_TRUE(is_plain_line(note)) << note;
  }
}

TEST(Hyperfine, TakesTheTimesOfACommand) {
  const ImportedRun run = read_file(
      R"({"results": [{"command": "train --quick", "mean": 2, "times": [1.0, 2.0, 9.0],
          "exit_codes": [0, 0, 0], "parameters": {"threads": "4"}},
         {"command": "false", "times": [0.1], "exit_codes": [1]},
         {"command": "killed", "times": [0.1], "exit_codes": [null]}]})");
  EXPECT_EQ(medians_of(run), std::vector<double>{2.0});
  EXPECT_EQ(run.points[0].key.axes.at("threads"), "4");
  EXPECT_EQ(run.notes.size(), 2U);
}

TEST(Hyperfine, LeavesOutOneResultWithoutUsableTimes) {
  for (const std::string_view bad :
       {R"("times": [])", R"("mean": 1.0)", R"("times": [0, 0])", R"("times": [-5])"}) {
    const ImportedRun run = read_file(R"({"results": [{"command": "x", )" + std::string(bad) +
                                      R"(}, {"command": "y", "times": [3.0]}]})");
    EXPECT_EQ(medians_of(run), std::vector<double>{3.0}) << bad;
    EXPECT_NE(notes_of(run).find("left out: x has "), std::string::npos) << notes_of(run);
  }
}

TEST(Hyperfine, TakesAMedianWithoutSingleTimesAndNoMean) {
  for (const std::string_view times : {"", R"(, "times": null)", R"(, "times": [])"}) {
    const std::string end = std::string(times) + "}]}";
    const ImportedRun run = read_file(
        R"({"results": [{"command": "x", "mean": 9.0, "stddev": 1.0, "median": 2.0)" + end);
    EXPECT_EQ(medians_of(run), std::vector<double>{2.0}) << times;
    EXPECT_NE(notes_of(run).find("the median of x counts"), std::string::npos);
    const ImportedRun mean = read_file(R"({"results": [{"command": "x", "mean": 9.0)" + end);
    EXPECT_TRUE(mean.points.empty());
    EXPECT_NE(notes_of(mean).find("x has a mean, and neither single times nor a median"),
              std::string::npos);
  }
}

TEST(Hyperfine, KeepsTheCommandBesideParametersOfAnyName) {
  const ImportedRun run = read_file(
      R"({"results": [{"command": "make -j4", "times": [1.0], "parameters": {"command": "x"}},
         {"command": "make -j4", "times": [2.0], "parameters": {"command": "y", "suite": "z"}},
         {"command": "make -j4", "times": [9.0], "parameters": {"command": "x"}}]})");
  EXPECT_EQ(medians_of(run), (std::vector<double>{1.0, 2.0}));
  for (const KeyedPoint& point : run.points) EXPECT_EQ(point.key.axes.at("command"), "make -j4");
  EXPECT_EQ(run.points[0].key.axes.at("parameter command"), "x");
  EXPECT_EQ(run.points[1].key.axes.at("suite"), "z");
  EXPECT_NE(notes_of(run).find("is there twice"), std::string::npos);
}

/// Files of programs that a history does not read, by their name.
TEST(ForeignFiles, AreRefusedByTheNameOfTheirProgram) {
  for (const auto& [text, name] : std::vector<std::pair<std::string, std::string>>{
           {R"({"machine_info": {}, "benchmarks": [{"name": "x", "stats": {}}]})",
            "pytest-benchmark"},
           {R"([{"benchmark": "x", "primaryMetric": {"score": 1}}])", "JMH"},
           {R"x({"results": [{"title": "x", "median(elapsed)": 1e-9}]})x", "nanobench"},
           {R"({"reason": "benchmark-complete", "id": "x"})", "Criterion.rs"},
           {"{\"name\": \"A\", \"real_time\": 1, \"cpu_time\": 1}\n"
            "{\"name\": \"B\", \"real_time\": 1, \"cpu_time\": 1}\n",
            "a program that rewrites JSON of Google Benchmark"},
           {R"([{"context": {}, "benchmarks": [{"name": "A", "real_time": 1, "cpu_time": 1}]}])",
            "a program that rewrites JSON of Google Benchmark"},
           {R"([{"command": "x", "times": [1, 2]}])", "a program that rewrites JSON of hyperfine"},
           {"{\"time_ms\": 1, \"event_type\": \"x\"}\n{\"time_ms\": 2, \"event_type\": \"x\"}\n",
            "MLPerf without its mark"},
           {R"({"fio version": "fio-3.36", "jobs": []})", "fio"},
           {":::MLPv0.5.0 resnet 1541711345.4 (f.py:1) run_start\n",
            "MLPerf before version 0.7"}}) {
    EXPECT_NE(problem_of(text).find("looks like a file of " + name), std::string::npos)
        << problem_of(text);
  }
}

/// JSON of option -J of nccl-tests 2.18.
TEST(NcclTests, TakesItsJson) {
  const std::string text = R"({"version":1,"start_time":"2026-08-01 10:00:00",
 "args":["./build/all_reduce_perf","-J","x.json"],"env":["A=b"],"nccl_version":22902,
 "config":{"nthreads":1,"ngpus":1,"aggregated_iterations":1,"graph":0,"blocking_collectives":"false",
 "devices":[{"rank":0,"group":0,"pid":1,"hostname":"a","device":0,"device_hex":"0000:01:00","device_info":"H100"}]},
 "results":[{"size":8,"count":2,"type":"float","redop":"sum","root":"    -1","out_of_place":null,
 "in_place":{"time":12.5,"alg_bw":0.00064,"bus_bw":0.00064,"nwrong":0.000000}},
 {"size":16,"count":4,"type":"float","redop":"sum","root":"    -1",
 "out_of_place":{"time":13.5,"alg_bw":0.001185,"bus_bw":0.001185,"nwrong":3.000000},
 "in_place":{"time":14.5,"alg_bw":0.001103,"bus_bw":0.001103,"nwrong":null}}],
 "out_of_bounds":{"count":1,"okay":"false"}})";
  const ImportedRun run = read_file(text);
  EXPECT_EQ(run.points.size(), 6U);
  EXPECT_DOUBLE_EQ(run.points[0].point.summary.median, 12.5e-6);
  EXPECT_EQ(run.points[0].key.axes.at("collective"), "all_reduce");
  EXPECT_EQ(run.points[0].key.axes.at("root"), "-1");
  EXPECT_EQ(run.points[0].key.machine.at("GPU"), "H100");
  EXPECT_NE(notes_of(run).find("wrong in 3 places"), std::string::npos);
}

TEST(NcclTests, TakeTheTimeOfTheirJson) {
  const samples::TemporaryFolder folder;
  samples::write_text(folder / "x.json", R"({"version":1,"start_time":"2026-08-01 10:00:00",
 "args":["all_reduce_perf"],"nccl_version":22902,"config":{"nthreads":1,"ngpus":1},
 "results":[{"size":8,"count":2,"type":"float","redop":"sum","root":"-1","out_of_place":null,
 "in_place":{"time":12.5,"alg_bw":0.00064,"bus_bw":0.00064,"nwrong":0}}]})");
  RunOptions options;
  options.commit = "c1";
  const ImportedRun run = read_run((folder / "x.json").string(), options);
  EXPECT_NE(notes_of(run).find("2026-08-01 10:00:00, has no zone and counts as local time"),
            std::string::npos)
      << notes_of(run);
  EXPECT_NEAR(static_cast<double>(run.time), 1'785'578'400.0, 24 * 3600);
}

TEST(ReadRun, TakesATimeWithoutAZoneAsLocalOrAsSaid) {
  const auto google = [](std::string_view date) {
    return R"({"context": {"date": ")" + std::string(date) +
           R"("}, "benchmarks": [{"name": "A", "real_time": 3}]})";
  };
  const samples::TemporaryFolder folder;
  const std::string path = (folder / "run").string();
  RunOptions options;
  options.commit = "c1";
  for (const std::string_view date :
       {"2018-03-01 11:02:03", "2018-03-01T11:02:03", "2018/03/01-11:02:03"}) {
    samples::write_text(folder / "run", google(date));
    const ImportedRun run = read_run(path, options);
    EXPECT_NEAR(static_cast<double>(run.time), 1'519'902'123.0, 14 * 3600.0) << date;
    EXPECT_NE(notes_of(run).find("counts as local time"), std::string::npos);
    EXPECT_TRUE(read_file(google(date)).notes.empty()) << "--time needs no date of the file";
  }
  samples::write_text(folder / "run", google("some day"));
  EXPECT_THROW((void)read_run(path, options), ConfigError);
  EXPECT_EQ(read_file(google("some day")).time, 1'700'000'000);
}

std::string event(std::string_view key, long long time_ms, std::string_view status = "") {
  return ":::MLLOG {\"key\": \"" + std::string(key) +
         "\", \"value\": null, \"time_ms\": " + std::to_string(time_ms) +
         ", \"metadata\": {\"status\": \"" + std::string(status) + "\"}}\n";
}

constexpr long long hour = 3'600'000;

TEST(Mllog, TakesTheTimeOfATrainingThatSucceeded) {
  const auto log = [](const std::string& status) {
    return R"(:::MLLOG {"key": "submission_benchmark", "value": "resnet", "time_ms": 1}
0: :::MLLOG {"key": "noise", "value": null, "time_ms": 1}
:::MLLOG {"key": "run_start", "value": null, "time_ms": 1700000000000}
noise
:::MLLOG {"key": "run_stop", "time_ms": 1700000090500, "metadata": {"status": ")" +
           status + "\"}}\n" + R"(:::MLLOG {"key": "global_batch_size", "value": 4096})";
  };
  const ImportedRun run = read_file(log("success"));
  EXPECT_EQ(medians_of(run), std::vector<double>{90.5});
  EXPECT_EQ(run.points[0].key.axes.at("global_batch_size"), "4096");
  EXPECT_TRUE(read_file(log("aborted")).points.empty());
  EXPECT_NE(problem_of(":::MLLOG {\"key\": \"run_start\"").find("line 1"), std::string::npos);
  EXPECT_NE(problem_of(":::MLLOG {\"key\": \"x\"}\n").find("no run_start"), std::string::npos);
}

/// Trainings that one file has, and the notes on them.
TEST(Mllog, TakesEachTrainingOfAFile) {
  const std::string good = event("run_start", hour) + event("run_stop", hour + 600'000, "success");
  const std::string later =
      event("run_start", 2 * hour) + event("run_stop", 2 * hour + 660'000, "success");
  const std::string aborted =
      event("run_start", 3 * hour) + event("run_stop", 3 * hour + 1000, "aborted");
  struct Case {
    std::string log;
    std::vector<double> times;
    std::string_view note;
  };
  for (const Case& one :
       {Case{good + later, {600, 660}, "2 trainings, each of which counts"},
        Case{good + aborted, {600}, "2 of 2 that began at 1970-01-01T03:00:00Z ended with status"},
        Case{aborted + good, {600}, "1 of 2 that began"},
        Case{event("run_start", 0) + good,
             {600},
             "1 of 2 that began at 1970-01-01T00:00:00Z has no"},
        Case{good + event("run_start", 4 * hour), {600}, "2 of 2 that began"},
        Case{good + event("run_stop", hour + 700'000, "aborted"), {}, "success, then aborted"},
        Case{good + event("run_stop", hour + 600'010, "success"), {600}, ""}}) {
    const ImportedRun run = read_file(one.log);
    EXPECT_EQ(medians_of(run), one.times) << one.log;
    EXPECT_NE(notes_of(run).find(one.note), std::string::npos) << notes_of(run);
  }
}

/// Lines as mlcommons/logging issue 339 and processes that share an output leave them.
TEST(Mllog, PassesOverDamagedEventsThatNothingDependsOn) {
  const std::string start = event("run_start", hour);
  const std::string stop = event("run_stop", hour + 600'000, "success");
  for (
      const std::string_view damaged :
      {R"(:::MLLOG {"time_ms": 16, "key": "eval_accuracy", "value": {0}, "metadata": {}})",
       R"(:::MLLOG {"time_ms": 16, "key": "train_loss", "value": NaN})",
       R"(:::MLLOG {"namespace": "", "time_m:::MLLOG {"time_ms": 1, "key": "epoch_start"})",
       R"(:::MLLOG {"time_ms": 16, "key": "x", "value": {0}, "metadata": {"file": "check_run_stop.py"}})",
       R"(:::MLLOG {"time_ms": 16, "key": "x", "value": "run_start" "run_stop"})",
       R"(:::MLLOG {"time_ms": 16, "key": "eval_loss", "value": 1e999})",
       R"(:::MLLOG {"time_ms": 16, "value": "no key"})", R"(:::MLLOG {"key": 3})",
       R"(:::MLLOG {"namespace": "", "time)", R"(:::MLLOG )"}) {
    const ImportedRun run = read_file(start + std::string(damaged) + "\n" + stop);
    EXPECT_EQ(medians_of(run), std::vector<double>{600.0}) << damaged;
    const bool is_event = damaged.size() > 9;
    EXPECT_EQ(notes_of(run).find("passed over: 1 lines of :::MLLOG that are not JSON of an event, "
                                 "of which line 2") != std::string::npos,
              is_event)
        << notes_of(run);
  }
  const std::string behind = stop.substr(0, stop.size() - 1) + " [rank 0] done\n";
  EXPECT_EQ(medians_of(read_file(start + behind)), std::vector<double>{600.0});
  for (const std::string& needed :
       {std::string(R"(:::MLLOG {"time_ms": 1, "key": "run_stop", "value": {0}})"),
        std::string(R"(:::MLLOG {"time_ms": 1, "key": "submission_benchmark", "value": res})"),
        std::string(R"(:::MLLOG {"time_ms": 1e999, "key" : "run_start"})"),
        std::string(R"(:::MLLOG {"key": "run_stop"})"), std::string(R"(:::MLLOG{"key": "run_s)"),
        ":::MLLOG {\"namespace\": " + stop}) {
    EXPECT_NE(problem_of(start + needed + "\n" + stop).find("line 2"), std::string::npos) << needed;
  }
}

TEST(Mllog, RefusesTimesInSeconds) {
  EXPECT_NE(problem_of(event("run_start", 1'785'578'401) + event("run_stop", 1'785'579'001))
                .find("line 1: a time_ms of 1785578401 is in s"),
            std::string::npos);
}

TEST(Mllog, SaysThatATrainingEndsBeforeItBegins) {
  const std::string backwards =
      event("run_start", hour + 600'000) + event("run_stop", hour + 1000, "success");
  EXPECT_NE(problem_of(backwards).find(
                "the training that began at 1970-01-01T01:10:00Z ended 599 s before that"),
            std::string::npos)
      << problem_of(backwards);
  const std::string good =
      event("run_start", 2 * hour) + event("run_stop", 2 * hour + 60'000, "success");
  const ImportedRun run = read_file(backwards + good);
  EXPECT_EQ(medians_of(run), std::vector<double>{60.0});
  EXPECT_NE(notes_of(run).find("so a clock was set"), std::string::npos) << notes_of(run);
  EXPECT_NE(problem_of(event("run_start", hour) + event("run_stop", hour, "success"))
                .find("ended at the same time"),
            std::string::npos);
  EXPECT_NE(problem_of(event("run_stop", hour, "success") + event("run_start", hour + 1000))
                .find("has no run_stop"),
            std::string::npos);
  EXPECT_NE(problem_of(event("run_stop", hour, "success")).find("no run_start"), std::string::npos);
}

TEST(Mllog, CountsATrainingThatEveryProcessLoggedOnce) {
  const auto log = [](std::string_view label, long long delay, long long stop) {
    return std::string(label) + event("run_start", hour + delay) + std::string(label) +
           event("run_stop", stop + delay, "success");
  };
  const long long stop = hour + 600'000;
  const ImportedRun labelled = read_file(log(" 0: ", 0, stop) + log(" 1: ", 40, stop));
  EXPECT_EQ(medians_of(labelled), std::vector<double>{600.0});
  EXPECT_NE(notes_of(labelled).find("2 processes logged the same"), std::string::npos);
  EXPECT_NE(
      problem_of(log("[0] ", 0, stop) + log("[1] ", 0, stop + 60'000)).find("differ in start"),
      std::string::npos);
  const ImportedRun mixed =
      read_file(event("run_start", hour) + event("run_start", hour + 3) +
                event("run_start", hour + 5) + event("run_stop", stop + 5, "success") +
                event("run_stop", stop + 6, "success") + event("run_stop", stop + 7, "success"));
  EXPECT_EQ(medians_of(mixed), std::vector<double>{600.0});
}

/// Text before events with a number of its own in each line: of the line, of a place in a program,
/// or a time.
TEST(Mllog, TakesLabelsThatDifferInANumberForOneProcess) {
  const std::string start = event("run_start", hour);
  const std::string middle = event("epoch_start", hour);
  const std::string stop = event("run_stop", hour + 600'000, "success");
  for (const std::string& log :
       {"[gpu-01:17] " + start + "[gpu-01:18] " + middle + "[gpu-01:19] " + stop,
        "[gpu-01:9] " + start + "[gpu-01:5] " + middle + "[gpu-01:7] " + stop,
        "[a:1] " + start + "[b:1] " + start + "[a:2] " + stop + "[b:2] " + stop,
        "train.py:312: " + start + "train.py:96: " + middle + "train.py:340: " + stop,
        "node1 app[12]: " + start + "node1 app[11]: " + middle + "node1 app[15]: " + stop,
        "12: " + start + "9: " + middle + "15: " + stop}) {
    EXPECT_EQ(medians_of(read_file(log)), std::vector<double>{600.0}) << log;
  }
  const ImportedRun processes =
      read_file("[gpu:1] " + start + "[gpu:2] " + start + "[gpu:1] " + stop + "[gpu:2] " + stop);
  EXPECT_NE(notes_of(processes).find("2 processes logged the same"), std::string::npos);
}

/// A restart soon after a crash looks like the line of another process, so it is said.
TEST(Mllog, SaysHowFarAwayStartsAndStopsAreThatItTakesForOtherProcesses) {
  const auto start = [](long long seconds) { return event("run_start", hour + 1000 * seconds); };
  const auto stop = [](long long seconds) {
    return event("run_stop", hour + 1000 * seconds, "success");
  };
  struct Case {
    std::string log;
    double time;
    std::string_view note;
  };
  for (const Case& one :
       {Case{start(0) + start(30) + stop(3630), 3600,
             "the training that began at 1970-01-01T01:00:30Z has 1 further line of run_start or "
             "run_stop, up to 30 s away"},
        Case{start(0) + start(5) + start(20) + stop(3620), 3600, "2 further lines"},
        Case{start(0) + start(5) + start(20) + stop(3620), 3600, "up to 20 s away"},
        Case{start(40) + start(30) + stop(3630), 3600, "up to 10 s away"},
        Case{start(0) + stop(3600) + stop(3650), 3600, "up to 50 s away"},
        Case{start(0) + start(60) + stop(3660), 3600, "1 of 2 that began"},
        Case{start(9000) + start(30) + stop(3630), 3600, "1 of 2 that began"},
        Case{"0: " + start(0) + "0: " + start(30) + "0: " + stop(3630) + "1: " + start(30) +
                 "1: " + stop(3630),
             3600, "up to 30 s away"},
        Case{"0: " + start(30) + "0: " + stop(3630) + "1: " + start(0) + "1: " + start(30) +
                 "1: " + stop(3630),
             3600, "up to 30 s away"}}) {
    const ImportedRun run = read_file(one.log);
    EXPECT_EQ(medians_of(run), std::vector<double>{one.time}) << one.log;
    EXPECT_NE(notes_of(run).find(one.note), std::string::npos) << notes_of(run);
  }
  EXPECT_EQ(notes_of(read_file(start(0) + stop(3600))), "");
}

}  // namespace
}  // namespace dlscale::regression::history
