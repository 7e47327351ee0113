// Rows of nccl-tests whose numbers contradict each other, and rows behind other text.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "logs.hpp"

namespace dlscale::regression::history {
namespace {

using namespace logs;

/// A log of a collective with one row, which has an operation and no root.
std::string log_of(std::string_view collective, std::string_view row) {
  return fmt::format(
      "# Collective test starting: {}_perf\n# nThread 1 nGpus 8\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time   algbw   busbw #wrong\n{}\n# Out of bounds values : 0 OK\n",
      collective, row);
}

/// As published with nccl-tests of versions from 2.0 to 2.16: NVIDIA H200, B200, A100 and others.
TEST(GarbledRows, AreNoRowsThatProgramsPrint) {
  for (const auto& [collective, row] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"all_reduce",
            "2147483648 536870912 float sum -1 13989 153.51 230.27 0 13997 153.42 230.13 0"},
           {"all_reduce", "8 2 float sum -1 99.09 0.00 0.00 N/A 36.48 0.00 0.00 N/A"},
           {"all_reduce", "131072 32768 float sum -1 55.33 2.37 4.44 N/A 54.01 2.43 4.55 N/A"},
           {"all_reduce", "8 1 double sum -1 10.50 0.00 0.00 0 10.60 0.00 0.00 0"},
           {"all_reduce", "1048576 524288 half sum -1 64.43 16.27 28.48 0 64.43 16.27 28.48 0"},
           {"all_reduce", "1048576 262144 float sum -1 64.43 16.27 0.00 0 64.43 16.27 0.00 0"},
           {"all_gather",
            "67108864 8388608 float none -1 100.1 670.29 335.14 0 92.39 726.37 363.19 0"},
           {"all_gather",
            "8589934592 1073741824 float none -1 8897.6 965.42 482.71 0 7613.3 1128.28 564.14 0"},
           {"sendrecv",
            "134217728 33554432 float sum -1 1211.2 110.81 110.81 0 1211.8 110.76 110.76 N/A"},
           {"broadcast", "64 16 int32 none 0 10.00 0.01 0.01 0 10.00 0.01 0.01 0"},
           {"alltoall",
            "134217728 16777216 float none 0 3324.7 40.37 20.19 0 3003.4 44.69 22.34 0"},
           // Seven of eight blocks travel, and the rate counts these.
           {"hypercube", "1048576 32768 float none -1 64.43 14.24 14.24 0 64.43 14.24 14.24 0"},
           {"reduce_scatter", "0 0 float sum -1 5.00 0.00 0.00 0 5.00 0.00 0.00 0"},
           {"renamed", "1048576 32768 float sum -1 64.43 16.27 14.24 0 64.43 16.27 14.24 0"}}) {
    const ImportedRun run = read_log(log_of(collective, row));
    EXPECT_EQ(run.points.size(), 6U) << row << all_notes(run);
  }
}

TEST(GarbledRows, AreNamedAndLeftOut) {
  constexpr std::string_view good =
      "1048576 262144 float sum -1 64.43 16.27 28.48 0 65.07 16.11 28.20 0";
  for (const auto& [old, by, note] :
       std::vector<std::tuple<std::string_view, std::string_view, std::string_view>>{
           {"64.43", "6.44", "the algbw 16.27 is not that of 1048576 B in the time 6.44"},
           {"64.43", "164.43", "is not that of 1048576 B"},
           {"64.43", "64.3", "is not that of 1048576 B"},
           {"65.07", "650.7", "is not that of 1048576 B"},
           {"16.27", "6.27", "is not that of 1048576 B"},
           {"1048576", "576", "the size 576 is not that of 262144 elements of float"},
           {"1048576", "1048570", "the size 1048570 is not that"},
           {"1048576", "11048576", "the size 11048576 is not that"},
           {"262144", "26214", "is not that of 26214 elements"},
           {"262144", "26x144", "\"26x144\" in column count"},
           {"float", "half", "is not that of 262144 elements of half"}}) {
    const ImportedRun run = read_log(log_of("all_reduce", replaced(good, old, by)));
    EXPECT_EQ(run.points.size(), 0U) << by;
    EXPECT_NE(all_notes(run).find(note), std::string::npos) << by << all_notes(run);
  }
  const ImportedRun bus = read_log(log_of("all_reduce", replaced(good, "28.48", "2.848")));
  EXPECT_NE(all_notes(bus).find("the busbw 2.848 is not that of the algbw 16.27"),
            std::string::npos)
      << all_notes(bus);
  const ImportedRun gathered = read_log(log_of(
      "all_gather", "67108864 838860 float none -1 100.1 670.29 335.14 0 92.39 726.37 363.19 0"));
  EXPECT_EQ(gathered.points.size(), 0U) << "no whole number of blocks";
}

TEST(GarbledRows, AreNamedBehindTextOfNccl) {
  const std::string text = each_line(right_nccl(), [](std::string_view line) {
    return (line.starts_with('#') ? "" : "node-a:12:34 [0] NCCL INFO Connected ") +
           std::string(line);
  });
  const ImportedRun run = read_log(text);
  EXPECT_TRUE(run.points.empty());
  EXPECT_NE(all_notes(run).find("left out: line 12"), std::string::npos) << all_notes(run);
  EXPECT_NE(all_notes(run).find("left out: line 13"), std::string::npos) << all_notes(run);
}

TEST(GarbledRows, OfOsuAreNamedBehindOtherText) {
  for (const std::string_view line :
       {"[warn] link down 32  9.16", "[warn] link down32  9.16\n", "hwloc: 1 32 9.16"}) {
    const ImportedRun run = read_log(
        fmt::format("# OSU MPI Latency Test v7.3\n# Size  Latency (us)\n8  8.50\n{}", line));
    EXPECT_EQ(run.points.size(), 1U) << line;
    EXPECT_NE(all_notes(run).find("left out: "), std::string::npos) << all_notes(run);
    EXPECT_NE(all_notes(run).find("line 4"), std::string::npos) << all_notes(run);
  }
  EXPECT_EQ(all_notes(read_log("# OSU MPI Latency Test v7.3\n# Size  Latency (us)\n8  8.50\n"
                               "done in 12 s\nversion 4.1.5\n")),
            "");
}

TEST(Refusals, QuoteTheErrorOfTheLog) {
  std::string none(right_nccl());
  none.resize(none.find("           8 "));
  for (const std::string_view error :
       {"Segmentation fault (core dumped)", "Test CUDA failure common.cu:1031 'an illegal'",
        "slurmstepd: error: *** STEP 12.0 CANCELLED AT 2026-08-01 ***"}) {
    EXPECT_NE(log_refusal(none + std::string(error) + "\n").find(error), std::string::npos)
        << log_refusal(none + std::string(error));
    EXPECT_NE(log_refusal("# OSU MPI Latency Test v7.3\n" + std::string(error)).find(error),
              std::string::npos);
  }
}

TEST(NcclJson, RefusesASecondDocument) {
  const std::string one =
      R"({"version":1,"args":["all_reduce_perf"],"nccl_version":23003,"config":{"nthreads":1},)"
      R"("results":[{"size":8,"count":2,"type":"float","out_of_place":null,)"
      R"("in_place":{"time":12.5,"alg_bw":0.00064,"bus_bw":0.00064,"nwrong":0}}]})";
  EXPECT_EQ(read_log(one).points.size(), 3U);
  for (const std::string_view between : {"", "\n", "\n\nrun 2\n"}) {
    const std::string refusal = log_refusal(one + std::string(between) + one);
    EXPECT_NE(refusal.find("another document begins in line"), std::string::npos) << refusal;
  }
  EXPECT_NE(all_notes(read_log(one + "\ndone\n")).find("is left aside"), std::string::npos);
}

}  // namespace
}  // namespace dlscale::regression::history
