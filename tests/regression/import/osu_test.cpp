#include <gtest/gtest.h>

#include <fmt/format.h>

#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "logs.hpp"

namespace dlscale::regression::history {
namespace {

using namespace logs;

constexpr std::string_view osu_full = R"(
# OSU MPI-CUDA Allreduce Latency Test v7.3
# Datatype: MPI_FLOAT.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
4                      20.10             19.00             21.00        1000
1048576               250.00            240.00            260.00         100
)";

TEST(Osu, TakesEveryListingOfTimesAndRates) {
  const ImportedRun run = read_log(osu_full);
  ASSERT_EQ(run.points.size(), 2U);
  EXPECT_EQ(run.points[1].key.axes.at("collective"), "all_reduce");
  EXPECT_EQ(run.points[1].key.axes.at("library"), "MPI-CUDA");
  EXPECT_EQ(run.points[1].key.axes.at("size"), "1048576");
  EXPECT_DOUBLE_EQ(run.points[1].point.summary.median, 250e-6);
  for (const auto& [text, collective, metric, value] :
       {std::tuple{
            "# OSU MPI Allreduce Latency Test v5.9\n# Size       Avg Latency(us)\n8   12.5\n",
            "all_reduce", "time", 12.5e-6},
        std::tuple{"# OSU MPI Broadcast Latency Test v5.6.2\r\n# Size       Avg Latency(us)\r\n8   "
                   "3.50\r\n",
                   "broadcast", "time", 3.5e-6},
        std::tuple{"# OSU MPI Allgather Latency Test v7.0\n# Size       Avg Latency(us)        "
                   "Validation\n8   4.5   Pass\n",
                   "all_gather", "time", 4.5e-6},
        std::tuple{"# OSU MPI Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n8   12.0\n", "",
                   "bandwidth", 12e6}}) {
    const ImportedRun other = read_log(text);
    ASSERT_EQ(other.points.size(), 1U) << text;
    EXPECT_EQ(other.points[0].key.metric, metric);
    EXPECT_DOUBLE_EQ(other.points[0].point.summary.median, value);
    if (!std::string_view(collective).empty()) {
      EXPECT_EQ(other.points[0].key.axes.at("collective"), collective);
    }
  }
}

TEST(Osu, LeavesOutWhatFailedAndRefusesWhatIsNone) {
  const ImportedRun run = read_log(
      "# OSU MPI Allreduce Latency Test v7.0\n# Size       Avg Latency(us)        Validation\n8   "
      "4.5   Pass\n16   4.6   Fail\n32  0.00  Pass\n");
  EXPECT_EQ(run.points.size(), 1U);
  EXPECT_EQ(run.notes.size(), 2U);
  EXPECT_NE(log_refusal("# OSU MPI Allreduce Latency Test v7.0\n").find("no rows"),
            std::string::npos);
  EXPECT_NE(
      log_refusal("# OSU MPI Allreduce Latency Test v7.0\n8 4.5\n").find("before its headings"),
      std::string::npos);
}

TEST(Osu, TakesLogsOfLaunchersAndRefusesSeveralTables) {
  std::string labelled;
  std::string of_two;
  for (const std::string_view line :
       {"# OSU MPI Allreduce Latency Test v5.9", "# Size       Avg Latency(us)", "8   12.5"}) {
    labelled += " 0: " + std::string(line) + "\n";
    of_two += "0: " + std::string(line) + "\n1: " + std::string(line) + "\n";
  }
  const ImportedRun twice = read_log(of_two);
  EXPECT_EQ(twice.points.size(), 1U);
  EXPECT_NE(all_notes(twice).find("the lines of 0, 1 have the same table, which counts once"),
            std::string::npos);
  of_two += "1: 16   13.5\n";
  EXPECT_EQ(read_log("+ srun -l osu_allreduce\n" + labelled).points.size(), 1U);
  EXPECT_NE(log_refusal(of_two).find("printed a table each"), std::string::npos);
}

/// A table with one more line, and what comes of it.
struct OsuLine {
  std::string_view line;
  std::string_view note;
  std::size_t points;
};

TEST(Osu, LeaveOutOneRowThatIsNotRight) {
  for (const OsuLine& one :
       {OsuLine{"16   fast  Pass\n", "line 4: \"fast\" in column Avg Latency(us) is not a number",
                2},
        OsuLine{"16   4,5  Pass\n", "has a comma, where numbers need a decimal point", 2},
        OsuLine{"16   nan  Pass\n", "\"nan\" in column", 2},
        OsuLine{"16   4.6   FAIL\n", "16 B failed the validation", 2},
        OsuLine{"16   4.6   Failed\n", "16 B failed the validation", 2},
        OsuLine{"16   4.6\n", "line 4: the row has 2 columns where the headings have 3", 2},
        OsuLine{"16   4.6   yes\n", "16 B lacks the result of its validation", 2},
        OsuLine{"16   4.6   Skipped\n", "", 3},
        OsuLine{"1.04858e+06   4.6   Pass\n", "\"1.04858e+06\" in column Size", 2},
        OsuLine{"16\n", "line 4: the row has 1 column where the headings have 3", 2},
        OsuLine{"the link is down\n", "1 line of other text", 2},
        OsuLine{"DATA VALIDATION ERROR: osu exited with status 1 on message size 16.\n",
                "the log reports an error in line 4", 2}}) {
    const ImportedRun run = read_log(
        "# OSU MPI Allreduce Latency Test v7.0\n# Size       Avg Latency(us)        Validation\n8  "
        " "
        "4.5   Pass\n" +
        std::string(one.line) + "32   4.7  Pass\n");
    EXPECT_EQ(run.points.size(), one.points) << one.line;
    EXPECT_NE(all_notes(run).find(one.note), std::string::npos) << one.line << all_notes(run);
    EXPECT_EQ(run.notes.empty(), one.note.empty()) << all_notes(run);
  }
}

TEST(Osu, LeaveOutTwoRowsThatALostLineBreakJoined) {
  for (const auto& [headings, joined] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"# Size       Avg Latency(us)", "8   2.6916   2.82"},
           {"# Size Avg Latency(us)", "8 2.69 16 2.82"},
           {"# Size                  MB/s        Messages/s", "1  5.01  5010000.002  10.02  2.5"},
           {"# Size    Latency (us)   Transmit Size", "8  2.5   416  2.6  8"},
           {"# Size  Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations",
            "4  20.10  19.00  21.00  10008  22.10  21.00  23.00  1000"}}) {
    const ImportedRun run =
        read_log(fmt::format("# OSU MPI Allreduce Latency Test v7.3\n{}\n{}\n", headings, joined));
    EXPECT_TRUE(run.points.empty()) << joined;
    EXPECT_NE(all_notes(run).find("left out: line 3: the row has"), std::string::npos)
        << joined << all_notes(run);
  }
}

/// A program that prints its own table into the log of OSU's benchmarks, and its number of rows.
struct OtherTable {
  std::string text;
  int rows;
};

std::vector<OtherTable> other_tables() {
  return {{right_nccl(), 2},
          {" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
           " 65536      5000             11024.1            11023.6            0.17\n",
           1},
          {" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]\n"
           " 2       1000          1.10           2.30         1.15\n"
           " 4       1000          1.11           2.31         1.16\n",
           2},
          {"# Benchmarking Allreduce\n"
           "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
           "        65536          640        40.10        40.30        40.20\n",
           1}};
}

TEST(Osu, EndWhereTheTableOfAnotherProgramBegins) {
  const std::string osu(osu_full);
  for (const auto& [text, rows] : other_tables()) {
    const std::string note =
        fmt::format("left out: {} row{} below headings that are not those of OSU's benchmarks",
                    rows, rows == 1 ? "" : "s");
    for (const std::string& log : {osu + text, text + osu, osu + text + osu}) {
      const ImportedRun run = read_log(log);
      const bool is_twice = log.size() > 2 * osu.size() + text.size() - 1;
      EXPECT_EQ(run.points.size(), is_twice ? 4U : 2U) << log;
      EXPECT_NE(all_notes(run).find(note), std::string::npos) << log << all_notes(run);
      for (const KeyedPoint& point : run.points) {
        EXPECT_LE(point.point.summary.median, 250e-6) << log;
      }
    }
  }
}

TEST(Logs, OfSeveralProgramsSayWhichCounts) {
  const std::string osu(osu_full);
  const std::string training =
      ":::MLLOG {\"key\": \"run_start\", \"time_ms\": 1700000000000, \"value\": null, "
      "\"metadata\": {}}\n:::MLLOG {\"key\": \"run_stop\", \"time_ms\": 1700000060000, \"value\": "
      "null, \"metadata\": {\"status\": \"success\"}}\n";
  for (const auto& [log, note] : std::vector<std::pair<std::string, std::string_view>>{
           {right_nccl() + osu, "left out: what nccl-tests printed into the file"},
           {right_nccl() + training, "left out: what nccl-tests printed into the file"},
           {osu + training, "left out: what OSU's benchmarks printed into the file"}}) {
    const ImportedRun run = read_log(log);
    EXPECT_FALSE(run.points.empty()) << log;
    EXPECT_NE(all_notes(run).find(note), std::string::npos) << all_notes(run);
  }
  for (const std::string& log : {osu, right_nccl(), training}) {
    EXPECT_EQ(all_notes(read_log(log)).find("printed into the file"), std::string::npos);
  }
}

/// Rows of other programs whose headings are lost, too.
TEST(Osu, LeaveOutRowsOfOtherProgramsWithoutHeadings) {
  for (const std::string_view row :
       {"1024 256 float sum -1 20.1 0.05 0.10 0 20.0 0.05 0.10 0",
        "65536 5000 11024.1 11023.6 0.17", "65536 640 40.10 40.30 40.20"}) {
    const ImportedRun run = read_log(std::string(osu_full) + std::string(row) + "\n");
    EXPECT_EQ(run.points.size(), 2U) << row;
    EXPECT_NE(all_notes(run).find("left out: line 7"), std::string::npos) << row << all_notes(run);
  }
}

TEST(Osu, LeaveOutRatesThatNoNumberHolds) {
  for (const char* value : {"1e308", "1.7e305", "1e-330", "inf"}) {
    const ImportedRun run = read_log(
        fmt::format("# OSU MPI Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n1   5.02\n"
                    "2   {}\n",
                    value));
    EXPECT_EQ(run.points.size(), 1U) << value;
    EXPECT_NE(all_notes(run).find("left out: "), std::string::npos) << value << all_notes(run);
  }
}

TEST(Osu, AreOtherSeriesWithOtherSettings) {
  const auto key = [](std::string_view title, std::string_view setting) {
    const ImportedRun run = read_log(fmt::format(
        "# OSU {} Test v7.4\n{}# Size          Latency (us)\n8   4.51\n", title, setting));
    EXPECT_EQ(run.points.size(), 1U);
    return run.points.at(0).key.text();
  };
  std::set<std::string> keys;
  const std::vector<std::pair<std::string_view, std::string_view>> settings{
      {"MPI-CUDA Latency", "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n"},
      {"MPI-CUDA Latency", "# Send Buffer on HOST (H) and Receive Buffer on HOST (H)\n"},
      {"MPI Latency", "# Datatype: MPI_CHAR.\n"},
      {"MPI Latency", "# Datatype: MPI_FLOAT.\n"},
      {"MPI_Put Latency",
       "# Window creation: MPI_Win_allocate\n# Synchronization: MPI_Win_flush\n"},
      {"MPI_Put Latency",
       "# Window creation: MPI_Win_allocate\n# Synchronization: MPI_Win_fence\n"},
      {"MPI Multi-threaded Latency", "# Number of Sender threads: 1\n"},
      {"MPI Multi-threaded Latency", "# Number of Sender threads: 2\n"}};
  for (const auto& [title, setting] : settings) keys.insert(key(title, setting));
  EXPECT_EQ(keys.size(), settings.size());
}

/// The titles of OSU's benchmarks 7.5, and some of other versions.
TEST(Osu, AreOtherSeriesInEachVariantOfACollective) {
  const auto key = [](std::string_view title) {
    const ImportedRun run =
        read_log(fmt::format("# OSU MPI{}\n# Size       Avg Latency(us)\n1024   12.50\n", title));
    EXPECT_EQ(run.points.size(), 1U) << title;
    return run.points.at(0).key;
  };
  for (const auto& [title, collective] : std::vector<std::pair<std::string_view, std::string_view>>{
           {" Allreduce Latency Test v7.5", "all_reduce"},
           {" Allgather Latency Test v7.5", "all_gather"},
           {" Allgatherv Latency Test v7.5", "all_gatherv"},
           {" Broadcast Latency Test v7.5", "broadcast"},
           {" Bcast Latency Test (Version 3.0)", "broadcast"},
           {"-CUDA Reduce Latency Test v5.9\r", "reduce"},
           {" Reduce_scatter Latency Test v7.5", "reduce_scatter"},
           {" All-to-All Personalized Exchange Latency Test v4.4.1", "all_to_all"},
           {" Alltoall Latency Test", "all_to_all"}}) {
    const SeriesKey plain = key(title);
    EXPECT_EQ(plain.axes.at("collective"), collective) << title;
    EXPECT_FALSE(plain.axes.contains("test")) << title;
  }
  for (const std::string_view test :
       {"All-to-Allv Personalized Exchange Latency", "All-to-Allw Personalized Exchange Latency",
        "Reduce_scatter_block Latency", "Allreduce Persistent Latency",
        "Reduce_scatter Persistent Latency", "Broadcast Persistent Latency",
        "All-to-All Personalized Exchange Persistent Latency", "Neighborhood Allgather Latency",
        "Non-blocking Allreduce Latency", "Barrier Latency", "Gatherv Latency"}) {
    const SeriesKey variant = key(fmt::format(" {} Test v7.5", test));
    EXPECT_FALSE(variant.axes.contains("collective")) << test;
    EXPECT_EQ(variant.axes.at("test"), test);
  }
  EXPECT_EQ(key(" Allreduce Latency Test on MPI_COMM_SELF v7.5").axes.at("test"),
            "Allreduce Latency Test on MPI_COMM_SELF v7.5");
}

/// Hosts of containers are named by hexadecimal numbers.
TEST(Osu, ReadTablesBetweenLinesOfHostsThatBeginWithADigit) {
  for (const std::string_view line :
       {"3f2a9c1b7d4e:12:34 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>",
        "4242424242:12:34 [0] NCCL INFO cudaDriverVersion 12040",
        "1c2d3e4f5a6b: rank 0 uses device 0"}) {
    const ImportedRun run =
        read_log(fmt::format("# OSU NCCL Allreduce Latency Test v7.5\n{0}\n# Size       Avg "
                             "Latency(us)\n8   12.50\n16   13.50\n",
                             line));
    EXPECT_EQ(run.points.size(), 2U) << line;
    EXPECT_TRUE(run.notes.empty()) << all_notes(run);
  }
  const ImportedRun run = read_log(
      "# OSU NCCL Allreduce Latency Test v7.5\n# Size       Avg Latency(us)\n8   "
      "12.50\n3f2a9c1b7d4e:12:34 [0] net.cc:9 NCCL WARN slow\n16   13.50\n");
  EXPECT_EQ(run.points.size(), 2U);
  EXPECT_NE(all_notes(run).find("passed over: 1 line"), std::string::npos) << all_notes(run);
}

TEST(Osu, ReadEveryTypeOfATestAndTestsWithoutSizes) {
  const ImportedRun types = read_log(
      "# OSU MPI Allreduce Latency Test v7.3\n# Datatype: MPI_INT.\n# Size       Avg "
      "Latency(us)\n4 "
      "  1.50\n# Datatype: MPI_FLOAT.\n# Size       Avg Latency(us)\n4   1.60\n");
  ASSERT_EQ(types.points.size(), 2U);
  EXPECT_EQ(types.points[0].key.axes.at("datatype"), "MPI_INT");
  EXPECT_EQ(types.points[1].key.axes.at("datatype"), "MPI_FLOAT");
  EXPECT_TRUE(types.notes.empty());
  const ImportedRun barrier =
      read_log("# OSU MPI Barrier Latency Test v5.9\n# Avg Latency(us)\n             1.24\n");
  ASSERT_EQ(barrier.points.size(), 1U);
  EXPECT_DOUBLE_EQ(barrier.points[0].point.summary.median, 1.24e-6);
  const ImportedRun pairs = read_log(
      "# OSU MPI Multiple Bandwidth / Message Rate Test v7.3\n# [ pairs: 1 ] [ window size: 64 "
      "]\n# "
      "Size                  MB/s        Messages/s\n1   5.01   5010000.00\n");
  ASSERT_EQ(pairs.points.size(), 1U);
  EXPECT_DOUBLE_EQ(pairs.points[0].point.summary.median, 5.01e6);
}

TEST(Osu, SayWhatTheyDoNotRead) {
  const std::string windows =
      "# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n# [ pairs: 4 ] [ window size: varied "
      "]\n\n# Uni-directional Bandwidth (MB/sec)\n#                8          16\n1            "
      "1.21  "
      "      1.30\n\n# Message Rate Profile\n#                8          16\n1      1210000.00  "
      "1300000.00\n";
  const std::string latency = "# OSU MPI Latency Test v7.4\n# Size     Latency (us)\n1   1.25\n";
  for (
      const auto& [text, reason] : std::vector<std::pair<std::string, std::string_view>>{
          {windows, "several window sizes"},
          {"# OSU MPI Init Test v5.6.2\nnprocs: 4, min: 100 ms, max: 200 ms, avg: 150 ms\n",
           "osu_init"},
          {"# OSU MPI Hello World Test v7.4\nThis is a test with 4 processes\n", "osu_hello"},
          {"# OSU OpenSHMEM Hello World Test v5.9\nThis is a test with 4 processes\n", "osu_hello"},
          {"# OSU OpenSHMEM Atomic Operation Rate Test v7.4\n# Operation           Million ops/s   "
           "   Latency (us)\nshmem_int_fadd          0.47          2.11\n",
           "Million ops/s"},
          {"# OSU OpenSHMEM Put_nbi Test v7.4\n# Size    Compute(us)    Overlap(%)\n1   1.1  2\n",
           "Overlap(%)"}}) {
    const std::string refusal = log_refusal(text);
    EXPECT_NE(refusal.find("it holds only what is not read"), std::string::npos) << refusal;
    EXPECT_NE(refusal.find(reason), std::string::npos) << refusal;
    for (const std::string& both : {text + latency, latency + text}) {
      const ImportedRun run = read_log(both);
      EXPECT_EQ(run.points.size(), 1U) << both;
      EXPECT_NE(all_notes(run).find(reason), std::string::npos) << all_notes(run);
    }
  }
  const ImportedRun cut = read_log(latency + "# OSU MPI Bandwidth Test v7.4\n");
  EXPECT_NE(all_notes(cut).find("the test Bandwidth has no rows"), std::string::npos);
}

TEST(Osu, NameEachSettingByOneWord) {
  const auto axes = [](std::string_view settings, std::string_view columns, std::string_view row) {
    const ImportedRun run = read_log(
        fmt::format("# OSU MPI Latency Test v7.4\n{}\n# {}\n{}\n", settings, columns, row));
    EXPECT_EQ(run.points.size(), 1U) << settings;
    Facts found = run.points.at(0).key.axes;
    for (const char* known : {"library", "test", "size"}) found.erase(known);
    return found;
  };
  constexpr std::string_view plain = "Size    Latency (us)";
  EXPECT_EQ(axes("# [ pairs: 4 ] [ window size: 64 ]", plain, "1  2.5"),
            (Facts{{"pairs", "4"}, {"window_size", "64"}}));
  EXPECT_EQ(axes("# Send Buffer on DEVICE (D) and Receive Buffer on MANAGED (MH)", plain, "1  2.5"),
            (Facts{{"send_buffer", "D"}, {"receive_buffer", "MH"}}));
  EXPECT_EQ(axes("# Number of forked processes in sender: 1\n# Number of forked processes in "
                 "receiver: 2",
                 plain, "1  2.5"),
            (Facts{{"senders", "1"}, {"receivers", "2"}}));
  EXPECT_EQ(axes("# Datatype: MPI_CHAR.", "Size    Latency (us)   Transmit Size", "8  2.5   4"),
            (Facts{{"datatype", "MPI_CHAR"}, {"transmitted", "4"}}));
  EXPECT_EQ(axes("# Window creation: MPI_Win_create\n# Synchronization: MPI_Win_lock/unlock ",
                 plain, "1  2.5"),
            (Facts{{"window", "MPI_Win_create"}, {"synchronization", "MPI_Win_lock/unlock"}}));
}

/// osu_ibarrier, osu_oshm_put_mr, and osu_neighbor_alltoallw, which has the title of osu_alltoallw.
TEST(Osu, ReadTablesOfOtherQuantitiesAndOfNeighbors) {
  const ImportedRun barrier = read_log(
      "\n# OSU MPI Non-blocking Barrier Latency Test v7.4\n# Overall = Coll. Init + Compute + "
      "MPI_Test + MPI_Wait\n\n# Overall(us)       Compute(us)    Pure Comm.(us)        "
      "Overlap(%)\n  "
      "           17.93              9.01              8.11             0.00\n");
  ASSERT_EQ(barrier.points.size(), 1U) << all_notes(barrier);
  EXPECT_DOUBLE_EQ(barrier.points[0].point.summary.median, 17.93e-6);
  const ImportedRun rate = read_log(
      "# OSU OpenSHMEM Put Message Rate Test v7.4\n# Size      Messages/s\n1   5010000.00\n");
  ASSERT_EQ(rate.points.size(), 1U) << all_notes(rate);
  EXPECT_EQ(rate.points[0].key.unit, "1/s");
  const ImportedRun neighbors = read_log(
      "Time took to create topology graph:12.50 us.\n\n# OSU MPI All-to-Allw Personalized Exchange "
      "Latency Test v7.4\n# Size       Avg Latency(us)\n1   5.01\n");
  ASSERT_EQ(neighbors.points.size(), 1U);
  EXPECT_EQ(neighbors.points[0].key.axes.at("test"),
            "Neighborhood All-to-Allw Personalized Exchange Latency");
}

TEST(Osu, KeepSettingsThatStandBeforeTheTitle) {
  const auto test = [](int receivers, const char* time) {
    return fmt::format(
        "# Number of Sender threads: 1 \n# Number of Receiver threads: {}\n# OSU MPI "
        "Multi-threaded Latency Test v5.6.2\n# Size          Latency (us)\n1   {}\n",
        receivers, time);
  };
  const std::string other = "# OSU MPI Latency Test v5.6.2\n# Size     Latency (us)\n1   1.25\n";
  const ImportedRun run = read_log(test(2, "9.00") + test(8, "19.00") + other);
  ASSERT_EQ(run.points.size(), 3U);
  EXPECT_EQ(run.points[0].key.axes.at("receivers"), "2");
  EXPECT_EQ(run.points[1].key.axes.at("receivers"), "8");
  EXPECT_FALSE(run.points[2].key.axes.contains("receivers"));
  EXPECT_TRUE(run.notes.empty()) << all_notes(run);
}

TEST(Osu, SayWhereALogIsCutAndWhereTestsAreAlike) {
  const std::string head = "# OSU MPI Allreduce Latency Test v5.9\n# Size       Avg Latency(us)\n";
  EXPECT_EQ(read_log(head + "8   12.50\n16   13.5").points.size(), 1U);
  EXPECT_NE(all_notes(read_log(head + "8   12.50\n16   13")).find("where the log is cut"),
            std::string::npos);
  EXPECT_EQ(read_log(head + "8   12.50\n16   13.50").points.size(), 2U) << "pasted text";
  const std::string test = head + "8   12.50\n";
  EXPECT_NE(all_notes(read_log(test + test)).find("tests that are alike"), std::string::npos);
}

}  // namespace
}  // namespace dlscale::regression::history
