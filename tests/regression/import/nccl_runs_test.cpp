// Runs of nccl-tests with other options, other ends and other text than those of its README.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "logs.hpp"
#include "regression/import/table_log.hpp"

namespace dlscale::regression::history {
namespace {

using namespace logs;

constexpr std::string_view row_of_8 =
    "           8             2     float     sum      -1    20.00    0.00    0.00       0    "
    "25.00 "
    "   0.00    0.00       0\n";

std::string first_key(std::string_view text) {
  const ImportedRun run = read_log(text);
  EXPECT_FALSE(run.points.empty()) << text;
  return run.points.empty() ? "" : run.points.front().key.text();
}

std::string with_line_below_settings(std::string_view line) {
  return replaced(right_nccl(), "#\n# Using", std::string(line) + "\n#\n# Using");
}

TEST(NcclRuns, AreOtherSeriesWhereTheyWaitOtherwise) {
  const auto blocking = [](std::string_view words) {
    const std::string text = with_line_below_settings("# Blocking Enabled: " + std::string(words));
    return read_log(text).points.at(0).key.axes.at("blocking");
  };
  for (const auto& [words, value] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"wait for completion and barrier after each collective ", "yes"},  // up to 2.17
           {"wait for completion after each collective (no barrier) ", "no barrier"},
           {"wait and barrier after each inner iteration (-m) ", "yes"},  // 2.19
           {"wait after each inner iteration (-m), no barrier ", "no barrier"},
           {"wait and barrier after each outer iteration (-n); time excludes barrier ",
            "outer iterations"},
           {"poll ", "poll"}}) {
    EXPECT_EQ(blocking(words), value) << words;
  }
}

TEST(NcclRuns, ClaimNoRanksOfACutList) {
  const std::string second =
      "#  Rank  1 Group  0 Pid    654 on node-b device  0 [0000:09:00] NVIDIA H100 80GB HBM3\n";
  for (const std::string_view cut :
       {"#  Rank  1 Group  0 Pid    654 on no...\n", "#  Ra...\n", "#...\n",
        "#  Rank  1 Group  0 Pid    654 on node-b device  0 [0000:09:00] NVIDIA H1...\n",
        "#  Rank  3 Group  0 Pid    656 on node-b device  0 [0000:09:00] NVIDIA H100 80GB "
        "HBM3\n"}) {
    const ImportedRun run = read_log(replaced(right_nccl(), second, cut));
    EXPECT_EQ(run.points.size(), 12U) << cut;
    EXPECT_FALSE(run.points.at(0).key.launch.contains("ranks")) << cut;
    EXPECT_FALSE(run.points.at(0).key.launch.contains("hosts")) << cut;
    EXPECT_FALSE(run.facts.contains("hosts")) << cut;
    EXPECT_EQ(run.points.at(0).key.machine.at("GPU"), "NVIDIA H100 80GB HBM3");
    EXPECT_NE(all_notes(run).find("list of ranks of all_reduce is incomplete"), std::string::npos);
  }
}

TEST(NcclRuns, AreOtherSeriesInGroups) {
  const std::string text = replaced(right_nccl(), "Rank  1 Group  0", "Rank  1 Group  1");
  EXPECT_EQ(read_log(text).points.at(0).key.launch.at("groups"), "2");
  EXPECT_FALSE(read_log(right_nccl()).points.at(0).key.launch.contains("groups"));
}

TEST(NcclRuns, SayThatTheyDidNotEnd) {
  const std::string whole = right_nccl();
  EXPECT_EQ(all_notes(read_log(whole)), "");
  const std::string cut = whole.substr(0, whole.find("# Out of"));
  struct End {
    std::string_view text;
    std::string_view note;
  };
  for (const End& end :
       {End{"", "all_reduce did not end"}, End{"# Out of bou", "all_reduce did not end"},
        End{"node-a: Test NCCL failure common.cu:1005 'remote process exited / '\n .. node-a pid "
            "653: Test failure common.cu:891\n",
            "reports an error in line 14: \"Test NCCL failure common.cu:1005 'remote process "
            "exited / '\", and 1 line more"},
        End{"node-a: Test CUDA failure common.cu:9 'out of memory'\n", "line 14: \"Test CUDA"},
        End{"node-a: Test timeout (30s) common.cu:9\n", "did not end"},
        End{"slurmstepd: error: *** JOB 1 ON n CANCELLED DUE TO TIME LIMIT ***\n", "error in line"},
        End{"        2048           512     float     sum      -1node-a: Test NCCL failure "
            "x.cu:1\n",
            "left out: line 14"}}) {
    const ImportedRun run = read_log(cut + std::string(end.text));
    EXPECT_EQ(run.points.size(), 12U) << end.text;
    EXPECT_NE(all_notes(run).find(end.note), std::string::npos) << all_notes(run);
    EXPECT_NE(all_notes(run).find("did not end"), std::string::npos) << all_notes(run);
  }
  const ImportedRun late = read_log(whole + "#\n# error: remote error\n");
  EXPECT_EQ(late.points.size(), 12U);
  EXPECT_NE(all_notes(late).find("\"# error: remote error\""), std::string::npos);
  // The message of another process.
  const std::string labelled =
      each_line(whole, [](std::string_view line) { return "0: " + std::string(line); });
  EXPECT_NE(all_notes(read_log(labelled + "1: n: Test NCCL failure x.cu:1 'x'\n"))
                .find("reports an error"),
            std::string::npos);
}

TEST(NcclRuns, NameEveryLineOfTheTableThatIsNotRead) {
  struct Text {
    std::string_view line;
    std::string_view note;
    std::size_t points;
  };
  const std::string whole = right_nccl();
  for (const Text& one :
       {Text{"     node-a:653 warn\n",
             "passed over: 1 line of other text within the table of all_reduce, first line 13: "
             "\"node-a:653 warn\"",
             12},
        Text{"WARNING: link down\n\nsee dmesg\n", "passed over: 2 lines of other text", 12},
        Text{
            "1.04858e+06        262144     float     sum      -1    45.80   22.89   22.89       0  "
            "  43.80   23.94   23.94       0\n",
            "left out: line 13: the size \"1.04858e+06\" is not a whole number", 12},
        Text{
            "warn:     2048        512     float     sum      -1    45.80   22.89   22.89       0  "
            "  43.80   23.94   23.94       0\n",
            "left out: line 13", 12},
        Text{
            "        2048           512     float     sum      -1    45,80   22,89   22,89       0 "
            "   43,80   23,94   23,94       0\n",
            "\"45,80\" in column time has a comma, where numbers need a decimal point", 12},
        Text{"        2048           512     float     sum      -1    45.80   22.89\n",
             "left out: line 13: the row has 7 columns", 12},
        Text{"node-a:653:660 [0] NCCL INFO Channel 00/02 : 0 1 2.5 3.5 4.5\n", "", 12},
        Text{"node-a:653:660 [0] transport.cc:1 NCCL WARN slow\n", "NCCL WARN slow", 12}}) {
    const ImportedRun run =
        read_log(replaced(whole, row_of_8, std::string(row_of_8) + std::string(one.line)));
    EXPECT_EQ(run.points.size(), one.points) << one.line;
    EXPECT_NE(all_notes(run).find(one.note), std::string::npos) << one.line << all_notes(run);
    EXPECT_EQ(run.notes.empty(), one.note.empty()) << all_notes(run);
  }
}

/// Hosts of containers are named by hexadecimal numbers. Text of NCCL may also tear a row.
TEST(NcclRuns, TakeNoLineOfNcclForARowWhateverTheHost) {
  for (const auto& [line, note] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"3f2a9c1b7d4e:12:34 [0] NCCL INFO Channel 00/02 : 0 1", ""},
           {"0123456789ab:653:660 [7] NCCL INFO comm 0x1 rank 0 nranks 2 - Init COMPLETE", ""},
           {"4242424242:12:34 [0] NCCL TRACE 1.5 2.5 3.5 call", ""},
           {"9a8b:1:2 [0] NCCL INFO Connected all rings", ""},
           {"3f2a9c1b7d4e:12:34 [0] transport.cc:1 NCCL WARN slow",
            "passed over: 1 line of other text within the table of all_reduce"},
           {"        2048  3f2a9c1b7d4e:12:34 [0] NCCL INFO x", "left out: line 13"},
           {"        2048           512     float     sum      -1 9a8b:1:2 [0] NCCL INFO x",
            "left out: line 13"}}) {
    const ImportedRun run =
        read_log(replaced(right_nccl(), row_of_8, fmt::format("{}{}\n", row_of_8, line)));
    EXPECT_EQ(run.points.size(), 12U) << line;
    EXPECT_NE(all_notes(run).find(note), std::string::npos) << line << all_notes(run);
    EXPECT_EQ(run.notes.empty(), note.empty()) << all_notes(run);
  }
}

TEST(NcclRuns, CountNoRanksBeyondAnyLaunch) {
  for (const std::string_view rank : {"1000001", "2147483647", "2147483648", "4294967297",
                                      "18446744073709551617", "99999999999999999999999999999999"}) {
    const ImportedRun run =
        read_log(replaced(right_nccl(), "Rank  1 ", fmt::format("Rank  {} ", rank)));
    EXPECT_EQ(run.points.size(), 12U) << rank;
    EXPECT_FALSE(run.points.at(0).key.launch.contains("ranks")) << rank;
    EXPECT_NE(all_notes(run).find("list of ranks of all_reduce is incomplete"), std::string::npos);
    const std::string both = replaced(replaced(right_nccl(), "Rank  0 ", "Rank  4294967296 "),
                                      "Rank  1 ", fmt::format("Rank  {} ", rank));
    EXPECT_NE(all_notes(read_log(both)).find("is incomplete"), std::string::npos) << rank;
  }
}

TEST(NcclRuns, NameEachHostOnce) {
  const std::string other = replaced(replaced(right_nccl(), "node-a", "node1"), "node-b", "node2");
  const std::string first = replaced(replaced(other, "node1", "node10"), "node2", "node20");
  for (const auto& [text, hosts] : std::vector<std::pair<std::string, std::string_view>>{
           {first, "node10, node20"},
           {first + other, "node1, node10, node2, node20"},
           {other + first, "node1, node10, node2, node20"},
           {first + replaced(other, "node1", "de1"), "de1, node10, node2, node20"},
           {other + other, "node1, node2"}}) {
    EXPECT_EQ(read_log(text).facts.at("hosts"), hosts);
  }
}

TEST(NcclRuns, HaveAFiniteRoundingWhateverTheExponent) {
  for (const std::string_view word :
       {"0.0e-2147483648", "0.00e+2147483647", "0.0e2147483647", "0e-99999999999999999999",
        "0.0E+99999999999999999999", "0e+400", "0.00000e-400", "1.5e+308"}) {
    EXPECT_TRUE(std::isfinite(1e9 * printed_rounding(word))) << word;
    EXPECT_GE(printed_rounding(word), 0) << word;
  }
  EXPECT_DOUBLE_EQ(printed_rounding("1.677e+05"), 50);
  EXPECT_DOUBLE_EQ(printed_rounding("1.5e-06"), 0.5e-7);
}

TEST(NcclRuns, HaveSamplesWhereCyclesRepeatTheSizes) {
  const std::string again = replaced(row_of_8, "20.00", "22.00");
  const ImportedRun run =
      read_log(replaced(right_nccl(), "# Out of", again + std::string(row_of_8) + "# Out of"));
  EXPECT_EQ(run.points.size(), 12U);
  const KeyedPoint* time = point_of(run, "time", {{"size", "8"}, {"in_place", "no"}});
  ASSERT_NE(time, nullptr);
  EXPECT_EQ(time->point.summary.n, 3U);
  EXPECT_DOUBLE_EQ(time->point.summary.median, 20e-6);
  EXPECT_DOUBLE_EQ(time->point.summary.max, 22e-6);
  EXPECT_NE(all_notes(run).find("up to 3 times, as -N prints them"), std::string::npos);
  // Rows of other types and roots are no repetitions.
  const ImportedRun types = read_log(replaced(
      right_nccl(), "# Out of", replaced(row_of_8, "  2     float", "  1    double") + "# Out of"));
  EXPECT_EQ(types.points.size(), 18U);
  EXPECT_TRUE(types.notes.empty());
}

/// The file of -J beside right_nccl(), with members in between.
std::string nccl_json(std::string_view config, std::string_view after, std::string_view options) {
  return fmt::format(
      R"({{"version":1,"start_time":"2026-08-01 10:00:00","args":["\/opt\/build\/all_reduce_perf"{}],)"
      R"("env":["A=\"b\",c"],"nccl_version":23003,"config":{{"nthreads":1{}}},"results":[)"
      R"({{"size":8,"count":2,"type":"float","redop":"sum","root":"    -1",)"
      R"("out_of_place":{{"time":20.000000,"alg_bw":0.000400,"bus_bw":0.000400,"nwrong":0.000000}},)"
      R"("in_place":{{"time":25.000000,"alg_bw":0.000320,"bus_bw":0.000320,"nwrong":0.000000}}}},)"
      R"({{"size":1024,"count":256,"type":"float","redop":"sum","root":"    -1",)"
      R"("out_of_place":{{"time":45.800000,"alg_bw":0.022358,"bus_bw":0.022358,"nwrong":0.000000}},)"
      R"("in_place":{{"time":43.800000,"alg_bw":0.023379,"bus_bw":0.023379,"nwrong":0.000000}}}}]{}}})",
      options, config, after);
}

constexpr std::string_view devices =
    R"(,"ngpus":1,"aggregated_iterations":1,"graph":0,"blocking_collectives":"false","devices":[)"
    R"({"rank":0,"group":0,"pid":653,"hostname":"node-a","device":0,"device_hex":"0000:06:00","device_info":"NVIDIA H100 80GB HBM3"},)"
    R"({"rank":1,"group":0,"pid":654,"hostname":"node-b","device":0,"device_hex":"0000:09:00","device_info":"NVIDIA H100 80GB HBM3"}])";
constexpr std::string_view right_end =
    R"(,"out_of_bounds":{"count":0,"okay":"true"},"average_bus_bandwidth":{"bandwidth":30.0,"okay":"unchecked"},"errors":[""],"end_time":"2026-08-01 10:01:00")";

/// An event in each iteration makes it slower (-I 1, since 2.19).
TEST(NcclJson, IsAnotherSeriesWithTimedIterations) {
  for (const auto& [value, is_timed] :
       {std::pair{"0", false}, std::pair{"\"false\"", false}, std::pair{"1", true},
        std::pair{"\"true\"", true}}) {
    const ImportedRun run = read_log(nccl_json(
        fmt::format("{},\"per_iter_timing\":{}", devices, value), right_end, ""));
    EXPECT_EQ(run.points.at(0).key.axes.contains("per_iteration_timing"), is_timed) << value;
  }
}

TEST(NcclJson, IsTheSameSeriesAsTheText) {
  const ImportedRun run = read_log(nccl_json(devices, right_end, ""));
  EXPECT_EQ(run.points.size(), 12U);
  EXPECT_EQ(all_notes(run), "");
  const ImportedRun text = read_log(right_nccl());
  ASSERT_EQ(text.points.size(), run.points.size());
  for (std::size_t i = 0; i < run.points.size(); ++i) {
    SeriesKey key = text.points[i].key;
    key.environment = {{"nccl-library", "23003"}};
    EXPECT_EQ(run.points[i].key.text(), key.text());
  }
  EXPECT_DOUBLE_EQ(run.points[0].point.summary.median, 20e-6);
  EXPECT_NEAR(run.points[0].point.rounding, 0.5e-12, 1e-18) << "JSON has six decimals";
}

TEST(NcclJson, MakesNoAxesOfWhatItLacks) {
  const ImportedRun run = read_log(nccl_json("", "", ""));
  EXPECT_EQ(run.points.size(), 12U);
  const SeriesKey& key = run.points.at(0).key;
  EXPECT_EQ(key.text().find("N/A"), std::string::npos) << key.text();
  EXPECT_EQ(key.launch, (Facts{{"threads", "1"}}));
  EXPECT_NE(all_notes(run).find("did not end"), std::string::npos);
  const std::string bare = replaced(nccl_json(devices, right_end, ""), R"("redop":"sum",)", "");
  EXPECT_FALSE(read_log(bare).points.at(0).key.axes.contains("redop"));
}

TEST(NcclJson, SaysWhatTheTextSays) {
  const auto changed = [](std::string_view old, std::string_view by) {
    return read_log(replaced(nccl_json(devices, right_end, ""), old, by));
  };
  EXPECT_NE(all_notes(changed(R"("errors":[""])", R"("errors":["remote error"])"))
                .find("# error: remote error"),
            std::string::npos);
  EXPECT_TRUE(changed(R"("count":0,"okay":"true")", R"("count":2,"okay":"false")").points.empty());
  EXPECT_EQ(changed(R"("nwrong":0.000000)", R"("nwrong":7.000000)").points.size(), 9U);
  EXPECT_EQ(changed(R"("nwrong":0.000000)", R"("nwrong":null)").points.size(), 12U);
  const ImportedRun infinite = changed("\"alg_bw\":0.000400", "\"alg_bw\":inf");
  EXPECT_EQ(infinite.points.size(), 6U) << "a row that is garbled";
  EXPECT_NE(all_notes(infinite).find("left out: result 1"), std::string::npos);
  EXPECT_EQ(changed(R"("time":20.000000)", R"("time":"nan")").points.size(), 6U);
}

TEST(NcclJson, FindsTheWayToWaitAmongTheArguments) {
  const std::string waits = replaced(devices, R"("false")", R"("true")");
  const auto blocking = [&waits](std::string_view options) {
    return read_log(nccl_json(waits, right_end, options)).points.at(0).key.axes.at("blocking");
  };
  EXPECT_EQ(blocking(R"(,"-z","1")"), "yes");
  EXPECT_EQ(blocking(R"(,"-b","8","-z2")"), "no barrier");
  EXPECT_EQ(blocking(R"(,"--blocking=3")"), "outer iterations");
  EXPECT_EQ(blocking(R"(,"--blo","1")"), "yes");
  EXPECT_EQ(blocking(""), "an unknown way");
}

TEST(NcclJson, CountsTheRanksOfEachProcess) {
  const std::string eight = replaced(devices, R"("ngpus":1)", R"("ngpus":4)");
  const ImportedRun run = read_log(nccl_json(eight, right_end, ""));
  EXPECT_EQ(run.points.at(0).key.launch.at("ranks"), "8");
  EXPECT_EQ(run.points.at(0).key.launch.at("hosts"), "2");
}

/// A list that no launch can have costs little and counts nothing.
TEST(NcclJson, CountsNoRanksBeyondAnyLaunch) {
  for (const auto& [threads, gpus] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"1", "50001"},
           {"100000", "1"},
           {"4000000000", "4000000000"},
           {"18446744073709551615", "18446744073709551615"}}) {
    std::string text = replaced(nccl_json(devices, right_end, ""), R"("nthreads":1)",
                                fmt::format(R"("nthreads":{})", threads));
    text = replaced(text, R"("ngpus":1)", fmt::format(R"("ngpus":{})", gpus));
    text = replaced(text, "HBM3", std::string(100'000, 'x'));
    const ImportedRun run = read_log(text);
    EXPECT_EQ(run.points.size(), 12U) << threads;
    EXPECT_FALSE(run.points.at(0).key.launch.contains("ranks")) << threads;
    EXPECT_NE(all_notes(run).find("list of ranks of all_reduce is incomplete"), std::string::npos);
  }
  const std::string many = replaced(devices, R"("ngpus":1)", R"("ngpus":1500)");
  EXPECT_EQ(read_log(nccl_json(many, right_end, "")).points.at(0).key.launch.at("ranks"), "3000");
}

/// Beside those of tests/core/launcher_lines_test.cpp: numbers of lines and unknown prefixes.
TEST(NcclRuns, AreTheSameBehindAnyPrefix) {
  const std::string expected = first_key(right_nccl());
  int number = 0;
  const auto numbered = [&number](std::string_view before, std::string_view after) {
    number = 0;
    return each_line(right_nccl(), [&](std::string_view line) {
      return fmt::format("{}{}{}{}", before, ++number, after, line);
    });
  };
  std::vector<std::string> texts{numbered("", ":"), numbered("run.out:", ":"),
                                 numbered("    ", "\t"), numbered("run.out-", "-"),
                                 numbered("I0801 10:00:00.00", " 77 x.cc:9] ")};
  for (const std::string_view prefix :
       {"0:", "12:", "slurm-123.out:", "logs/run.out:", "slurm-123.out-",
        "node[1-2]: ", "node[1-2],gpu7: ", "[NID 00012] 2026-08-01 10:00:00 ", "launcher-x7 main ",
        "INFO - ", "[INFO] ", "stdout: ", "arg\t", "out| ", "+", "INFO:root:"}) {
    texts.push_back(each_line(right_nccl(), [prefix](std::string_view line) {
      return std::string(prefix) + std::string(line);
    }));
  }
  for (const std::string& text : texts) {
    const ImportedRun run = read_log(text);
    EXPECT_EQ(run.points.size(), 12U) << text.substr(0, 60);
    EXPECT_EQ(all_notes(run), "") << text.substr(0, 60);
    if (!run.points.empty()) EXPECT_EQ(run.points.front().key.text(), expected);
  }
  // The lines before and after those that match, of grep -A.
  const std::string around = replaced(
      each_line(right_nccl(), [](std::string_view line) { return "run.out-" + std::string(line); }),
      "run.out-#", "run.out:#");
  EXPECT_EQ(read_log(around).points.size(), 12U);
  EXPECT_EQ(
      read_log(replaced(right_nccl(), row_of_8, std::string(500, '\0') + std::string(row_of_8)))
          .points.size(),
      12U)
      << "zero bytes that two writers of a file left";
}

TEST(NcclRuns, NameAPrefixThatIsNotAlike) {
  int number = 0;
  const std::string text = each_line(right_nccl(), [&number](std::string_view line) {
    return std::string(static_cast<std::size_t>(++number), 'x') + " " + std::string(line);
  });
  EXPECT_NE(log_refusal(text).find("the headings in line 10 come after \"xxxxxxxxxx\""),
            std::string::npos)
      << log_refusal(text);
}

TEST(NcclRuns, GiveAdviceThatFitsTheReason) {
  RunOptions options;
  options.axes["collective"] = "all_reduce";
  const std::string unnamed =
      replaced(right_nccl(), "# Collective test starting: all_reduce_perf\n", "");
  const std::string refusal = log_refusal(unnamed + unnamed + unnamed, options);
  EXPECT_NE(refusal.find("it has 3 tests that do not name their collective"), std::string::npos);
  EXPECT_EQ(refusal.find("Measure again"), std::string::npos) << refusal;
}

TEST(NcclRuns, NameTheCollectiveByTheProgramOrDoubtIt) {
  const auto read = [](std::string_view program) {
    return read_log(replaced(right_nccl(), "all_reduce_perf", program));
  };
  for (const std::string_view program :
       {"all_reduce_perf", "/opt/nccl-tests/build/all_reduce_perf", "all_reduce_perf_mpi",
        "lt-all_reduce_perf", "C:\\nccl\\all_reduce_perf.exe", "all_reduce_perf_mpi.exe"}) {
    const ImportedRun run = read(program);
    EXPECT_EQ(run.points.at(0).key.axes.at("collective"), "all_reduce") << program;
    EXPECT_TRUE(run.notes.empty()) << all_notes(run);
  }
  for (const std::string_view program :
       {"renamed", "all_reduce_perf_patched", "a.out", "all_reduce_bias_perf"}) {
    const ImportedRun run = read(program);
    EXPECT_NE(run.points.at(0).key.axes.at("collective"), "all_reduce") << program;
    EXPECT_NE(all_notes(run).find("is not a program of nccl-tests"), std::string::npos) << program;
  }
  RunOptions stated;
  stated.axes["collective"] = "all_reduce";
  const ImportedRun run =
      read_log(replaced(right_nccl(), "all_reduce_perf", "renamed"), std::move(stated));
  EXPECT_EQ(run.points.at(0).key.axes.at("collective"), "all_reduce");
  EXPECT_TRUE(run.notes.empty()) << all_notes(run);
}

TEST(NcclRuns, NameTheVerdictOnTheirBandwidth) {
  for (const auto& [text, is_named] : std::vector<std::pair<std::string, bool>>{
           {replaced(right_nccl(), ": 30.0", ": 30.0 FAILED"), true},
           {replaced(right_nccl(), ": 30.0", ": 3.0e+01 FAILED "), true},
           {replaced(right_nccl(), ": 30.0", ": 30.0 OK"), false},
           {nccl_json(devices, R"(,"average_bus_bandwidth":{"bandwidth":30.0,"okay":false})", ""),
            true},
           {nccl_json(devices, R"(,"average_bus_bandwidth":{"bandwidth":30.0,"okay":"false"})", ""),
            true},
           {nccl_json(devices, R"(,"average_bus_bandwidth":{"bandwidth":30.0,"okay":"unchecked"})",
                      ""),
            false},
           {nccl_json(devices, R"(,"average_bus_bandwidth":{"bandwidth":30.0,"okay":"true"})", ""),
            false}}) {
    const ImportedRun run = read_log(text);
    EXPECT_EQ(run.points.size(), 12U);
    EXPECT_EQ(all_notes(run).find("NCCL_TESTS_MIN_BW") != std::string::npos, is_named)
        << text << all_notes(run);
  }
}

/// Option -O 0 of rccl-tests; tests of NCCL 1 time some collectives out of place alone.
TEST(NcclRuns, TakeASingleSideForWhatItsTitleSays) {
  for (const auto& [title, place] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"in-place", "yes"}, {"out-of-place", "no"}, {"", "no"}}) {
    const ImportedRun run = read_log(fmt::format(
        "# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 1\n#   {}\n"
        "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
        "           8             2     float     sum      -1    20.00    0.00    0.00      0\n"
        "# Out of bounds values : 0 OK\n",
        title));
    ASSERT_EQ(run.points.size(), 3U) << title;
    EXPECT_EQ(run.points[0].key.axes.at("in_place"), place) << title;
  }
}

/// Integers have no rounding errors, and floats no more than the limit of the tool.
TEST(NcclRuns, LeaveOutErrorsWhateverTheTrailerSays) {
  std::string older =
      replaced(replaced(nccl, "#wrong     time", " error     time"), "#wrong", " error");
  older = replaced(older, "0.03       7", "0.03   0e+00");
  struct Error {
    std::string_view count;
    std::string_view type;
    std::string_view error;
    bool is_right;
  };
  for (const Error& one :
       {Error{"2", " float", "1e+00", false}, Error{"2", " float", "1e-05", true},
        Error{"2", " float", "2e-05", false}, Error{"4", "  half", "5e-04", true},
        Error{"4", "  half", "2e-02", false}, Error{"2", " int32", "1e+00", false},
        Error{"1", "uint64", "1e+00", false}, Error{"8", "  int8", "0e+00", true},
        Error{"1", "double", "1e-12", true}, Error{"1", "double", "1e-11", false}}) {
    const std::string text = replaced(
        replaced(older, "2     float     sum      -1    20.00    0.00    0.00       0",
                 std::string(one.count) + "    " + std::string(one.type) +
                     "     sum      -1    20.00    0.00    0.00   " + std::string(one.error)),
        "0 OK", "0 OK");
    EXPECT_EQ(read_log(text).points.size(), one.is_right ? 12U : 9U) << one.type << one.error;
  }
}

}  // namespace
}  // namespace dlscale::regression::history
