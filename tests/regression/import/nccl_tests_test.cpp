#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "logs.hpp"
#include "regression/history/run.hpp"
#include "regression/import/table_log.hpp"

namespace dlscale::regression::history {
namespace {

using namespace logs;

TEST(NcclTests, TakesEveryRowInPlaceAndOutOfPlace) {
  const ImportedRun run = read_log(nccl);
  EXPECT_EQ(run.points.size(), 9U);  // three metrics, of which one side of a row is wrong
  const KeyedPoint* time = point_of(run, "time", {{"size", "1024"}, {"in_place", "no"}});
  ASSERT_NE(time, nullptr);
  EXPECT_DOUBLE_EQ(time->point.summary.median, 45.8e-6);
  EXPECT_EQ(time->key.axes.at("collective"), "all_reduce");
  EXPECT_EQ(time->key.axes.at("redop"), "sum");
  EXPECT_EQ(time->key.machine.at("GPU"), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(time->key.environment.at("nccl-library"), "23003");
  EXPECT_EQ(time->key.launch.at("ranks"), "2");
  EXPECT_EQ(time->key.launch.at("hosts"), "2");
  const KeyedPoint* rate = point_of(run, "busbw", {{"size", "1024"}, {"in_place", "no"}});
  ASSERT_NE(rate, nullptr);
  EXPECT_EQ(rate->point.summary.median, 0.02e9);
  EXPECT_EQ(rate->key.direction, Direction::larger_is_better);
  EXPECT_EQ(point_of(run, "time", {{"size", "1024"}, {"in_place", "yes"}}), nullptr);
  ASSERT_EQ(run.notes.size(), 1U);
  EXPECT_NE(run.notes[0].find("wrong in 7 places"), std::string::npos);
}

TEST(NcclTests, KeepsHalfTheUnitOfTheLastDigitOfEachNumber) {
  for (const auto& [word, rounding] :
       std::vector<std::pair<const char*, double>>{{"34.05", 0.005},
                                                   {"0.01", 0.005},
                                                   {"1234.6", 0.05},
                                                   {"20", 0.5},
                                                   {"1.67772e+07", 50},
                                                   {"5e-07", 5e-8}}) {
    EXPECT_NEAR(printed_rounding(word), rounding, 1e-9 * rounding) << word;
  }
  for (const KeyedPoint& point : read_log(nccl).points) {
    const double unit = point.key.unit == "s" ? 1e-6 : 1e9;
    EXPECT_NEAR(point.point.rounding, 0.005 * unit, 1e-9 * unit) << point.key.name();
  }
}

TEST(NcclTests, TakesOlderTextAndLaunchersPrefixes) {
  std::string text;
  for (const std::string_view line :
       {"# nThread 1 nGpus 8 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 "
        "validation: 1",
        "#   Rank  0 Pid 1320 on h device  0 [0x00] Tesla V100-SXM2-16GB",
        "#       size         count      type   redop     time   algbw   busbw  error     time   "
        "algbw   busbw  error",
        "     8   2   float   sum   13.39   0.00   0.00  1e-07   11.85   0.00   0.00  N/A"}) {
    text += "[1,0]<stdout>:" + std::string(line) + "\n";
  }
  EXPECT_NE(log_refusal(text).find("line 4"), std::string::npos);
  EXPECT_NE(log_refusal(text).find(
                "Write \"# Collective test starting: all_reduce_perf\" as its first line"),
            std::string::npos);
  RunOptions options;
  options.axes["collective"] = "all_gather";
  EXPECT_EQ(read_log(text, options).points.size(), 6U);
  const std::string named = "[1,0]<stdout>:# Collective test starting: all_gather_perf\n" + text;
  EXPECT_EQ(read_log(named).points.size(), 6U) << "the advice";
}

TEST(NcclTests, RefusesProcessesThatRanByThemselves) {
  EXPECT_NE(log_refusal(replaced(nccl, "Rank  1", "Rank  0")).find("MPI=1"), std::string::npos);
  std::string none(nccl);
  none.resize(none.find("           8 "));
  EXPECT_NE(log_refusal(none).find("no rows"), std::string::npos);
}

TEST(NcclTests, LeavesOutRowsThatAreGarbledOrCannotBe) {
  struct Case {
    std::string_view old;
    std::string_view replacement;
    std::string_view note;
    std::size_t points;
  };
  for (const Case& one :
       {Case{"45.80", "fast!", "line 13: \"fast!\" in column time", 6},
        Case{"   20.00", "        ", "line 12: the row has 12 columns", 3},
        Case{"45.80", " 0.00", "1024 B out of place of all_reduce has a time of 0\n", 6},
        Case{"25.00", "-5.00", "8 B in place of all_reduce has a time of -5.00", 6},
        Case{" 0.02", "-1.00", "1024 B out of place of all_reduce has a time of 45.80, algbw of -1",
             6},
        Case{"     -1    45.80", "     -1node:7 [0] NCCL INFO x\n 45.80", "line 13: the row has",
             6}}) {
    const ImportedRun run = read_log(replaced(nccl, one.old, one.replacement));
    EXPECT_NE(all_notes(run).find(one.note), std::string::npos) << all_notes(run);
    EXPECT_EQ(run.points.size(), one.points) << one.replacement;
  }
}

/// Last columns of wrong results, and what the note says of them.
struct WrongResult {
  std::string_view column;
  std::string_view note;
};

TEST(NcclTests, LeaveOutWrongResultsInAnyFormOfNumber) {
  for (const WrongResult& wrong : {WrongResult{"1.67772e+07", "wrong in 16777200 places"},
                                   {"128", "wrong in 128 places"},
                                   {"1e+06", "wrong in 1000000 places"},
                                   {"1", "wrong in 1 place\n"},
                                   {"2.5e9", "wrong in 2500000000 places"},
                                   {"1e300", "wrong in 1e300 places"},
                                   {"9.3e+18", "wrong in 9.3e+18 places"},
                                   {"0.4", "wrong in 0.4 places"},
                                   {"1e-05", "wrong in 1e-05 places"},
                                   {"nan", "has nan as its number"},
                                   {"-nan", "has -nan as its number"},
                                   {"inf", "has inf as its number"},
                                   {"-1", "has -1 as its number"},
                                   {"0x10", "has 0x10 as its number"},
                                   {"FAILED", "has FAILED as its number"}}) {
    const ImportedRun run =
        read_log(replaced(nccl, "0.02       0", "0.02  " + std::string(wrong.column)));
    EXPECT_NE(all_notes(run).find(wrong.note), std::string::npos) << all_notes(run);
    EXPECT_EQ(run.points.size(), 6U) << wrong.column;
    EXPECT_EQ(point_of(run, "time", {{"size", "1024"}}), nullptr);
  }
  for (const std::string_view right : {"0", "0e+00", "0.0", "+0", "N/A"}) {
    EXPECT_EQ(read_log(replaced(nccl, "0.02       0", "0.02  " + std::string(right))).points.size(),
              9U)
        << right;
  }
}

/// As nccl-tests 2.4 to 2.12 print it; src/common.cu of 2019.
constexpr std::string_view before_2_13 =
    R"(# nThread 1 nGpus 4 minBytes 8 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20 validation: 1
#
# Using devices
#   Rank  0 Pid   1320 on       dgx device  0 [0x06] Tesla V100-SXM2-16GB
#   Rank  1 Pid   1320 on       dgx device  1 [0x07] Tesla V100-SXM2-16GB
#   Rank  2 Pid   1320 on       dgx device  2 [0x0a] Tesla V100-SXM2-16GB
#
#                                                     out-of-place                       in-place
#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144   float     sum    51.20   20.48   27.31  1e-06    50.10   20.93   27.91  1e-06
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 27.6
)";

TEST(NcclTests, JudgesTheOlderColumnOfErrorsByItsLimitAndVerdict) {
  RunOptions options;
  options.axes["collective"] = "all_reduce";
  const auto points = [&](std::string_view error, std::string_view verdict) {
    const std::string text =
        replaced(replaced(before_2_13, "1e-06    50", std::string(error) + "    50"),
                 "# Out of bounds values : 0 OK\n", verdict);
    return read_log(text, options).points.size();
  };
  constexpr std::string_view ok = "# Out of bounds values : 0 OK\n";
  constexpr std::string_view failed = "# Out of bounds values : 1 FAILED\n";
  EXPECT_EQ(points("1e-06", ok), 6U);
  EXPECT_EQ(points("1e-06", ""), 6U);
  EXPECT_EQ(points("2e-05", ""), 6U) << "three ranks may have 2e-5";
  EXPECT_EQ(points("3e-05", ""), 3U);
  EXPECT_EQ(points("3e-05", ok), 3U) << "2.5e-5 is too much, whatever the verdict says";
  EXPECT_EQ(points("1e+00", ok), 3U);
  EXPECT_EQ(points("2e+00", failed), 3U);
  EXPECT_EQ(points("1e-06", failed), 0U);
  for (const std::string_view doubtful : {"nan", "inf", "-nan", "3e-07*"}) {
    EXPECT_EQ(points(doubtful, ok), 3U) << doubtful;
  }
  EXPECT_EQ(points("N/A", ok), 6U);
  const std::string no_time = replaced(before_2_13, "51.20", " 0.00");
  EXPECT_EQ(read_log(no_time, options).points.size(), 3U);
  EXPECT_EQ(read_log(replaced(no_time, "1e-06    50", "9e+00    50"), options).points.size(), 3U)
      << "no verdict clears a time of 0";
  EXPECT_EQ(read_log(replaced(no_time, "0 OK", "1 FAILED"), options).points.size(), 0U)
      << "a time of 0 says not which results are wrong";
}

/// The file's own verdict.
TEST(NcclTests, TrustNoRowOfATestThatFailedWithoutARowThatSaysSo) {
  const std::string clean = replaced(nccl, "0.03       7", "0.03       0");
  EXPECT_EQ(read_log(clean).points.size(), 12U);
  for (const std::string_view verdict : {"4 FAILED", "1 FAILED", "0 FAILED", "3", "1e+06 FAILED"}) {
    const ImportedRun run = read_log(replaced(clean, "0 OK", verdict));
    EXPECT_TRUE(run.points.empty()) << verdict;
    EXPECT_NE(all_notes(run).find("all rows of all_reduce, since it ends with"), std::string::npos);
  }
  EXPECT_EQ(read_log(replaced(nccl, "0 OK", "1 FAILED")).points.size(), 9U);
  EXPECT_EQ(read_log(replaced(clean, ": 30.0", ": 30.0 FAILED")).points.size(), 12U)
      << "slow is not wrong";
}

/// What launchers, terminals and services do to a log.
TEST(NcclTests, AreTheSameFromEveryLauncher) {
  const std::vector<std::function<std::string(std::string_view)>> changes{
      [](std::string_view line) { return " 0: " + std::string(line); },
      [](std::string_view line) { return "[1,0]<stdout>: " + std::string(line); },
      [](std::string_view line) { return "2026-08-01T10:00:00.123456789Z " + std::string(line); },
      [](std::string_view line) { return "[0] " + std::string(line); },
      [](std::string_view line) { return "\x1b[36mnccl-1  |\x1b[0m " + std::string(line); },
      [](std::string_view line) { return std::string(line) + "\r"; },
      [](std::string_view line) { return "[default0]:" + std::string(line); },
      [](std::string_view line) { return "Aug 01 10:00:00 " + std::string(line) + "   \x1b[K"; }};
  for (const auto& change : changes) {
    const ImportedRun run = read_log("job starts\n 1: NCCL INFO\n" + each_line(nccl, change));
    EXPECT_EQ(run.points.size(), 9U) << change("x");
    EXPECT_EQ(run.points.front().key.text(), read_log(nccl).points.front().key.text());
  }
  const std::string marked = "\xEF\xBB\xBF" + std::string(nccl);
  EXPECT_EQ(read_log(marked).points.size(), 9U);
  std::string utf16("\xFF\xFE");
  for (const char letter : nccl) utf16 += {letter, '\0'};
  EXPECT_EQ(read_log(utf16).points.size(), 9U);
}

TEST(NcclTests, TakesTestsOneAfterTheOther) {
  const std::string gather =
      replaced(nccl, "Collective test starting: all_reduce_perf",
               "Collective test starting: /opt/nccl-tests/build/all_gather_perf");
  const std::string both = std::string(nccl) + "a line between\n" + gather;
  const ImportedRun run = read_log(both);
  EXPECT_EQ(run.points.size(), 18U);
  EXPECT_NE(point_of(run, "time", {{"collective", "all_gather"}, {"size", "8"}}), nullptr);
  EXPECT_EQ(
      read_log(each_line(both, [](std::string_view line) { return " 0: " + std::string(line); }))
          .points.size(),
      18U);
  EXPECT_EQ(read_log(std::string(nccl) + gather + gather).points.size(), 27U);
  EXPECT_NE(all_notes(read_log(gather + gather)).find("2 tests of all_gather; equal rows"),
            std::string::npos);
  // A crash before the verdict, and then the next test.
  const std::string cut(nccl.substr(0, nccl.find("        1024")));
  EXPECT_EQ(read_log(cut + gather).points.size(), 15U);
  RunOptions options;
  options.axes["collective"] = "all_reduce";
  EXPECT_NE(log_refusal(std::string(before_2_13) + std::string(before_2_13), options)
                .find("2 tests that do not name their collective"),
            std::string::npos);
}

TEST(NcclTests, CountsATableOfEveryProcessOnceAndRefusesDifferentOnes) {
  const auto by = [](std::string_view label, std::string_view text) {
    return each_line(text,
                     [&](std::string_view line) { return std::string(label) + std::string(line); });
  };
  const ImportedRun run = read_log(by("0: ", nccl) + by("1: ", nccl));
  EXPECT_EQ(run.points.size(), 9U);
  EXPECT_NE(all_notes(run).find("lines of 0, 1 have the same table"), std::string::npos);
  const std::string slower = replaced(nccl, "45.80", "46.80");
  EXPECT_NE(
      log_refusal(by("0: ", nccl) + by("1: ", slower)).find("lines of 0, 1 have a table each"),
      std::string::npos);
  EXPECT_NE(log_refusal(by("[1,0]<stdout>:", nccl) + by("[1,1]<stdout>:", slower)).find("MPI=1"),
            std::string::npos);
}

/// Tables of other versions and options, and how many points they have; a blank side has none.
TEST(NcclTests, FindColumnsOfOtherVersionsAndOptions) {
  struct Table {
    std::string_view text;
    std::size_t points;
    std::string_view metric;
    double value;
  };
  RunOptions options;
  options.axes["collective"] = "broadcast";
  for (
      const Table& table :
      {// -S: a date and a clock behind each row.
       Table{
           R"(#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong           timestamp
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)         %Y-%m-%d %H:%M:%S
     1048576        262144     float     sum      -1    51.20   20.48   27.31       0    50.10   20.93   27.91       0  2026-01-01 10:00:00
)",
           6, "time", 51.20e-6},
       // -C: the processor's time of the calls.
       Table{
           R"(#       size         count      type   redop    root  cputime   algbw   busbw  #wrong  cputime   algbw   busbw  #wrong
     1048576        262144     float     sum      -1    51.20   20.48   27.31       0    50.10   20.93   27.91       0
)",
           6, "cputime", 51.20e-6},
       // -I: more columns of each side.
       Table{
           R"(#       size         count      type   redop    root     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%
     1048576        262144     float     sum      -1    51.20   20.48   27.31       0    50.00    60.00    59.00     2.10    50.10   20.93   27.91       0    50.00    60.00    59.00     2.10
)",
           6, "time", 51.20e-6},
       // A blank side out of place.
       Table{
           R"(#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
     1048576        262144     float     sum      -1                                     50.10   20.93   27.91      0
)",
           3, "time", 50.10e-6},
       // rccl-tests, in place alone.
       Table{R"(#       size         count      type   redop    root     time   algbw   busbw #wrong
     1048576        262144     float     sum      -1    50.10   20.93   27.91      0
)",
             3, "time", 50.10e-6},
       // 2019: without redop, with root.
       Table{
           R"(#       size         count    type    root     time   algbw   busbw  error     time   algbw   busbw  error
     1048576        262144   float       0    51.20   20.48   27.31  0e+00    50.10   20.93   27.91  0e+00
)",
           6, "time", 51.20e-6},
       // A blank operation.
       Table{
           R"(#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
     1048576        262144     float              -1    51.20   20.48   27.31      0    50.10   20.93   27.91      0
)",
           6, "time", 51.20e-6},
       // 2017: times in milliseconds.
       Table{
           R"(#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res
     1048576        262144   float     sum    0.051  20.48  27.31    0e+00    0.050  20.93  27.91    0e+00
 Out of bounds values : 0 OK
)",
           6, "time", 0.051e-3}}) {
    const ImportedRun run =
        read_log("nThread 1 nGpus 2 minBytes 8\n" + std::string(table.text), options);
    EXPECT_EQ(run.points.size(), table.points) << table.text << all_notes(run);
    const KeyedPoint* point = point_of(run, table.metric, {{"size", "1048576"}});
    ASSERT_NE(point, nullptr) << table.text;
    EXPECT_DOUBLE_EQ(point->point.summary.median, table.value) << table.text;
  }
}

}  // namespace
}  // namespace dlscale::regression::history
