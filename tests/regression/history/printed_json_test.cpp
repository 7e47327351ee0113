#include "regression/import/printed_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "histories.hpp"
#include "regression/history/run.hpp"
#include "regression/import/content_kind.hpp"

namespace dlscale::regression::history {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ImportedRun imported_from(std::string_view text) {
  const samples::TemporaryFolder folder;
  samples::write_text(folder / "run", text);
  RunOptions options;
  options.commit = "c1";
  options.time = 1'700'000'000;
  return read_run((folder / "run").string(), options);
}

std::string refusal_of(std::string_view text) {
  try {
    (void)imported_from(text);
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

/// As Google Benchmark 1.9 prints one benchmark; with labels before each line.
std::string google_json(const std::string& name, std::string_view time = "3.0e+00",
                        const std::string& label = "") {
  std::string text;
  for (const std::string& line :
       {std::string("{"), std::string("  \"context\": {"), std::string("    \"num_cpus\": 2"),
        std::string("  },"), std::string("  \"benchmarks\": ["), std::string("    {"),
        "      \"name\": \"" + name + "\",", std::string("      \"run_type\": \"iteration\","),
        std::string("      \"iterations\": 10,"), "      \"real_time\": " + std::string(time) + ",",
        std::string("      \"cpu_time\": 2.0e+00,"), std::string("      \"time_unit\": \"us\""),
        std::string("    }"), std::string("  ]"), std::string("}")}) {
    text += label;
    text += line;
    text += '\n';
  }
  return text;
}

constexpr std::string_view hyperfine_json =
    "{\n  \"results\": [\n    {\"command\": \"x\", \"times\": [1.0]}\n  ]\n}\n";

TEST(PrintedJson, IsReadBetweenOtherText) {
  const std::string warning =
      "***WARNING*** CPU scaling is enabled, the benchmark real time measurements may be noisy.\n";
  for (const std::string& before :
       {std::string("Running bench\n"), warning, "{\"event\": \"start\"}\n" + warning,
        std::string("{node-a} 2 GPUs, \"NCCL\"\n[INFO] busbw\n\n"),
        std::string("{\"unclosed\": [1, 2\n")}) {
    for (const std::string& json : {google_json("A"), std::string(hyperfine_json)}) {
      const ImportedRun run = imported_from(before + json);
      EXPECT_FALSE(run.points.empty()) << before;
      EXPECT_THAT(run.notes, ElementsAre(HasSubstr("the text before the JSON"))) << before;
    }
  }
  for (const std::string_view after :
       {"Done.\n", "\n\n[INFO] 3 passed\n", "{\"event\": \"end\"}\n", "real 0m3.2s\nuser 0m1s\n"}) {
    const ImportedRun run = imported_from(google_json("A") + std::string(after));
    EXPECT_EQ(run.points.size(), 2U) << after;
    EXPECT_THAT(run.notes, ElementsAre(HasSubstr("the text behind the JSON, from line 1")))
        << after;
  }
  EXPECT_THAT(imported_from(google_json("A") + " \n" + std::string(3, '\0')).notes, IsEmpty());
}

TEST(PrintedJson, IsReadBehindTheLabelsOfALauncher) {
  for (const std::string label :
       {"0: ", "[1,0]<stdout>:", "[default0]:", "2026-08-01T10:00:00.1234567Z ", "bench-1  | ",
        "[pod/x/bench] "}) {
    EXPECT_EQ(imported_from(google_json("A", "3.0e+00", label)).points.size(), 2U) << label;
  }
  EXPECT_THAT(refusal_of(google_json("A", "3.0", "0: ") + google_json("A", "3.0", "1: ")),
              HasSubstr("several processes printed JSON"));
}

/// A file that two programs wrote, or one program twice.
TEST(PrintedJson, IsRefusedWhereMoreThanOneFollowsByItsLine) {
  const std::string first = google_json("A");
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {first + google_json("B"), "another document begins in line 16"},
           {first + "Running\n" + google_json("B"), "another document begins in line 17"},
           {first + std::string(hyperfine_json), "another document begins in line 16"},
           {std::string(hyperfine_json) + first, "another document begins in line 6"},
           {first + "  ]\n}\n", "line 16 goes on behind the end"},
           {first + ",\n", "line 16 goes on behind the end"},
           {first.substr(0, first.find("      \"iter")) + "\"x\": 1}, \n" + google_json("B") + "]}",
            "break off where another document begins"}}) {
    EXPECT_THAT(refusal_of(text), HasSubstr(why)) << text;
  }
}

TEST(PrintedJson, IsReadBehindTheNumbersOfItsLines) {
  for (const std::string& text : {google_json("A"), std::string(hyperfine_json)}) {
    for (const auto& [form, separator] : std::vector<std::pair<const char*, const char*>>{
             {"", ":"}, {"out/run-1.json:", ":"}, {"    ", "\t"}, {"", "\t"}}) {
      std::string numbered;
      std::istringstream lines(text);
      int number = 0;
      for (std::string line; std::getline(lines, line);) {
        numbered += form + std::to_string(++number) + separator + line + "\n";
      }
      EXPECT_EQ(kind_of_content(unwrapped(numbered)), kind_of_content(text)) << numbered;
      EXPECT_EQ(unwrapped(numbered.replace(numbered.rfind(std::to_string(number)), 1, "x")), "");
    }
  }
}

TEST(PrintedJson, QuotesTextThatOtherProgramsPrintedIntoIt) {
  std::string text = google_json("A");
  text.insert(text.find("      \"iter"), "NCCL version 2.19.3+cuda12.3\n");
  EXPECT_THAT(refusal_of(text), HasSubstr("line 9 is text within the JSON, \"NCCL version 2.19.3"));
  text = google_json("A");
  text.insert(text.find("    {\n"), "***WARNING*** Library was built as DEBUG.\n");
  EXPECT_THAT(refusal_of(text), HasSubstr("line 6 is text within the JSON, \"***WARNING***"));
  for (const char* line :
       {"[12:00:00] INFO hello", "[1,0] rank started", "2026-08-01 10:00:00 start", "123 ranks",
        "-- done", "true enough", "note: x"}) {
    text = google_json("A");
    text.insert(text.find("      \"iter"), std::string(line) + "\n");
    EXPECT_THAT(refusal_of(text),
                HasSubstr(std::string("line 9 is text within the JSON, \"") + line));
  }
}

TEST(PrintedJson, IsRefusedWithNumbersOfALocaleByTheirReason) {
  for (const std::string number :
       {"100,5", "1,0050000000000000e+02", "1.234.567", "1'234", "1\u202F234", "-3,5"}) {
    const std::string problem = refusal_of(google_json("A", number));
    EXPECT_THAT(problem, HasSubstr("line 10: ")) << number;
    EXPECT_THAT(problem, HasSubstr("LC_ALL=C")) << number;
  }
  EXPECT_EQ(strict_json("{\"a\": [0,5], \"b\": 1.5,\"c\": 2}"),
            "{\"a\": [0,5], \"b\": 1.5,\"c\": 2}");
}

TEST(PrintedJson, LeavesOutARowWhoseNumberNoDoubleHolds) {
  for (const std::string number : {"1e999", "-1e999", "1.0E+400"}) {
    const ImportedRun run = imported_from(google_json("A", number));
    EXPECT_EQ(run.points.size(), 1U) << number;
    EXPECT_THAT(run.notes, ElementsAre("left out: real_time of A is not a number")) << number;
  }
  EXPECT_EQ(strict_json("[1e-999, 1e300]"), "[1e-999, 1e300]");
  const ImportedRun run = imported_from(
      R"({"results": [{"command": "x", "times": [1e999, 1]}, {"command": "y", "times": [null]},
          {"command": "z", "times": ["1"]}, {"command": "w", "times": [2]}, {"mean": 3}]})");
  EXPECT_EQ(run.points.size(), 2U) << "x keeps its other time";
  EXPECT_EQ(run.notes.size(), 4U);
}

TEST(PrintedJson, ShowsBytesThatAreNotUtf8) {
  for (const auto& [name, shown] : std::vector<std::pair<std::string, std::string>>{
           {"BM_\xE9", "BM_\\xe9"},
           {"BM_\x83\x65\x83X", "BM_\\x83e\\x83X"},
           {"BM_\xC3", "BM_\\xc3"},
           {"BM_\xED\xA0\x80", "BM_\\xed\\xa0\\x80"}}) {
    const ImportedRun run = imported_from(google_json(name));
    ASSERT_EQ(run.points.size(), 2U) << shown;
    EXPECT_EQ(run.points[0].key.axes.at("benchmark"), shown);
    EXPECT_THAT(run.notes, ElementsAre(HasSubstr("line 7 has bytes that are not UTF-8")));
  }
  EXPECT_THAT(imported_from(google_json("BM_é…𝄞")).notes, IsEmpty());
}

/// The keys of each kind in any order, and those of other programs beside them.
TEST(ContentKind, DoesNotDependOnTheOrderOfKeys) {
  using enum ContentKind;
  const std::string row = R"([{"name": "A", "real_time": 1.0, "cpu_time": 1.0}])";
  for (const auto& [text, kind] : std::vector<std::pair<std::string, ContentKind>>{
           {R"({"context": {}, "results": [], "benchmarks": )" + row + "}", google_benchmark},
           {R"({"results": [], "benchmarks": )" + row + R"(, "context": {}})", google_benchmark},
           {R"({"results": {"a": []}, "benchmarks": )" + row + "}", google_benchmark},
           {R"({"schema": "x", "benchmarks": )" + row + "}", google_benchmark},
           {R"({"context": {}, "results": [{"command": "x", "times": [1]}]})", hyperfine},
           {R"({"context": {}, "benchmarks": [{"name": "a", "stats": {"mean": 1}}]})", unknown},
           {R"({"benchmarks": [{"stats": {"mean": 1}}], "context": {}})", unknown},
           {R"({"benchmarks": [{"name": "a", "states": []}], "context": {}})", unknown},
           {R"({"context": {}, "benchmarks": {"a": 1}})", unknown},
           {R"({"context": {}, "benchmarks": [1, 2]})", unknown},
           {R"({"results": [["command"]]})", unknown},
           {R"({"results": 3})", unknown}}) {
    EXPECT_EQ(kind_of_content(text), kind) << text;
  }
}

/// The beginnings of real outputs.
TEST(OtherPrograms, AreNamedByWhatTheyWrite) {
  for (
      const auto& [text, name] : std::vector<std::pair<std::string, std::string>>{
          {R"({"context":{},"benchmarks":[{"name":"a","fullname":"t.py::a","stats":{"mean":1.0}}]})",
           "pytest-benchmark"},
          {R"({"benchmarks": [{"runs": [{"warmups": [[1, 0.1]]}]}], "version": "1.0"})", "pyperf"},
          {R"({"layout":[],"context":{"now":1},"benchmarks":[{"alias":"a","runs":[{"stats":{}}]}]})",
           "mitata"},
          {R"({"context":{"now":1},"benchmarks":[{"alias":"a","group":0,"runs":[{"stats":{}}]}]})",
           "mitata"},
          {"| Command  |  Mean [s] |  Min [s] |\n|--+--+--|\n", "hyperfine, as a table"},
          {R"({"meta":{"version":{}},"devices":[],"benchmarks":[{"name":"b","states":[]}]})",
           "NVBench"},
          {R"({"commit_hash":"c","date":1530000000000,"results":{"x":[1.0]},"version":2})", "asv"},
          {R"({"mean":{"confidence_interval":{"lower_bound":1},"point_estimate":1.5}})",
           "Criterion.rs"},
          {R"([{"benchmark":"a.b","mode":"thrpt","primaryMetric":{"score":1.0}}])", "JMH"},
          {R"({"root_group": {}, "metrics": {"http_reqs": {"count": 3}}})", "k6"},
          {R"({"data":[[1.0]],"columns":["time"],"nodes":[]})", "Caliper"},
          {R"({"schemaVersion": 1, "deviceProperties": [], "traceEvents": []})",
           "PyTorch's profiler"},
          {R"({"traceEvents": [{"ph": "X"}]})", "a profiler"},
          {"<?xml version=\"1.0\"?>\n<Catch2TestRun name=\"a\">", "Catch2"},
          {"<?xml version=\"1.0\"?>\n<testsuites/>", "a program that writes XML"},
          {" Performance counter stats for './a.out':\n", "perf stat"},
          {"1.23,msec,task-clock,1230,100.00,0.9,CPUs utilized\n", "perf stat"},
          {"name,iterations,real_time,cpu_time,time_unit,bytes_per_second\n",
           "Google Benchmark in CSV"},
          {"Benchmark              Time             CPU   Iterations\n", "Google Benchmark, as"},
          {"command,mean,stddev,median,user,system,min,max\nls,1,,1,0,0,1,1\n", "hyperfine in CSV"},
          {"| Command | Mean [ms] | Min [ms] |\n|:---|---:|\n", "hyperfine, as a table"},
          {"ranks,seconds\n1,2.5\n", "a program that writes CSV"},
          {"goos: linux\nBenchmarkA-8   100   123 ns/op\n", "Go's testing"},
          {":::MLPv0.6.0 [transformer] 1557 (a.py:1) run_start\n", "MLPerf before"}}) {
    EXPECT_THAT(refusal_of(text), HasSubstr("looks like a file of " + name)) << text;
  }
  for (const std::string_view ours :
       {R"({"schema": "dlscale.gate", "traceEvents": 1})", "hello\n", ""}) {
    EXPECT_EQ(program_that_wrote(ours), "") << ours;
  }
}

}  // namespace
}  // namespace dlscale::regression::history
