// Tables of several launches in one log.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "logs.hpp"

namespace dlscale::regression::history {
namespace {

using namespace logs;

constexpr std::string_view osu_table =
    "\n# OSU MPI Allreduce Latency Test v5.6.2\n# Size       Avg Latency(us)\n4    2.00\n8   "
    "2.20\n";

/// Lines before the first and the second of two tables that are alike.
using Lines = std::pair<std::string_view, std::string_view>;

TEST(Launches, AreRefusedWhereOnlyTheTextBeforeTheirTablesDiffers) {
  for (const auto& [first, second] :
       std::vector<Lines>{{"np=2", "np=4"},
                          {"+ mpirun -np 2 ./osu_allreduce", "+ mpirun -np 4 ./osu_allreduce"},
                          {"$ srun -N 2 ./bench", "$ srun -N 4 ./bench"},
                          {"NCCL_ALGO=Ring", "NCCL_ALGO=Tree"},
                          {"export NCCL_PROTO=LL128", "export NCCL_PROTO=Simple"},
                          {"job starts", "UCX_TLS=tcp"},
                          {"=== 2 nodes ===", "=== 4 nodes ==="},
                          {"ranks: 8", "ranks: 16"},
                          {"# np=2", "# np=4"},
                          {"Running with algo Ring", "Running with algo Tree"},
                          {"a:1:2 [0] NCCL INFO NCCL_ALGO set by environment to Ring",
                           "a:1:2 [0] NCCL INFO NCCL_ALGO set by environment to Tree"},
                          {"openmpi@1.10.7 osu_allreduce", "mpich@3.3 osu_allreduce"}}) {
    for (const std::string& table : {std::string(osu_table), right_nccl()}) {
      const std::string refusal =
          log_refusal(fmt::format("{}\n{}{}\n{}", first, table, second, table));
      EXPECT_NE(refusal.find("tables of several launches, as line "), std::string::npos)
          << second << refusal;
      EXPECT_NE(refusal.find(second), std::string::npos) << refusal;
    }
  }
}

TEST(Launches, AreRepetitionsOtherwise) {
  for (const auto& [first, second] : std::vector<Lines>{
           {"", ""},
           {"run 1", "run 2"},
           {"i=1", "i=2"},
           {"=== iteration 1 of 3 ===", "=== iteration 2 of 3 ==="},
           {"Sat Aug  1 10:00:00 UTC 2026", "Sat Aug  1 10:01:00 UTC 2026"},
           {"SLURM_JOB_ID=12", "SLURM_JOB_ID=13"},
           {"10:00:00 mpirun -np 2 ./osu_allreduce", "10:01:00 mpirun -np 2 ./osu_allreduce"},
           {"NCCL_ALGO=Ring", ""},
           {"NCCL_ALGO=Ring", "NCCL_ALGO=Ring"},
           {"2 tasks left", "1 tasks left"},
           {"2 nodes", "+ sleep 1"}}) {
    for (const std::string& table : {std::string(osu_table), right_nccl()}) {
      const ImportedRun run = read_log(fmt::format("{}\n{}{}\n{}", first, table, second, table));
      EXPECT_NE(all_notes(run).find("are repetitions of a run"), std::string::npos) << second;
    }
  }
}

TEST(Launches, OfOtherCollectivesOrSizesAreTold) {
  const std::string other = replaced(osu_table, "Allreduce", "Broadcast");
  EXPECT_EQ(read_log("np=2\n" + std::string(osu_table) + "np=4\n" + other).points.size(), 4U);
  const std::string larger =
      replaced(replaced(osu_table, "4    2.00", "16   3.00"), "8   2.20", "32  4.00");
  EXPECT_EQ(read_log("np=2\n" + std::string(osu_table) + "np=4\n" + larger).points.size(), 4U);
}

TEST(Osu, ReadBarriersOfEveryVersion) {
  for (const auto& [headings, row] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"       Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)",
            "8.85     5.04   4.02    0.00"},
           {"# Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)",
            "8.85     5.04   4.02    0.00"},
           {"# Avg Latency(us)", "8.85"},
           {"       Avg Latency(us)   Min Latency(us)   Max Latency(us)", "8.85     5.04   9.02"},
           {"  Latency(us)", "8.85"}}) {
    const ImportedRun run = read_log(fmt::format(
        "openmpi osu_ibarrier\n\n# OSU MPI Non-blocking Barrier Latency Test v5.6.3\n"
        "# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n{}\n      {}\n"
        "openmpi osu_iscatterv\n\n# OSU MPI Non-blocking Scatterv Latency Test v5.6.3\n\n"
        "# Size           Overall(us)       Compute(us)\n1                       3.40   2.1\n",
        headings, row));
    ASSERT_EQ(run.points.size(), 2U) << headings << all_notes(run);
    EXPECT_DOUBLE_EQ(run.points[0].point.summary.median, 8.85e-6);
    EXPECT_EQ(run.points[0].key.axes.at("test"), "Non-blocking Barrier Latency");
    EXPECT_FALSE(run.points[0].key.axes.contains("size"));
    EXPECT_EQ(all_notes(run).find("left out"), std::string::npos);
  }
}

/// Prefixes that no blank follows, or that no launcher prints.
TEST(Osu, AreTheSameBehindAnyPrefix) {
  const std::string table =
      "# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n1                     1.50\n64"
      "                    1.51\n4096                  1.91\n1048576             106.36\n";
  std::vector<std::string> texts;
  for (const std::string_view prefix :
       {"0:", "12:", "slurm-12.out:", "logs/run.out:", "    ", "\t", "INFO:root:", "| ",
        "0: ", "2026-08-01 10:00:00,123 - INFO - ", "launcher-x7kqz launcher ", "8 ", "out>",
        "launcher-x7 main 2026-08-01T10:00:00.123Z ", "2026-08-01T10:00:00Z 0:"}) {
    texts.push_back(each_line(table, [prefix](std::string_view line) {
      return std::string(prefix) + std::string(line);
    }));
  }
  for (const auto& [before, after] : std::vector<Lines>{
           {"", ":"}, {"slurm-12.out:", ":"}, {"   ", "   "}, {"", " "}, {"17855784000", " "}}) {
    int number = 0;
    texts.push_back(each_line(table, [&](std::string_view line) {
      return fmt::format("{}{}{}{}", before, ++number, after, line);
    }));
  }
  for (const std::string_view blank : {"\u2009", "\u00A0", "\u3000", "\u202F"}) {
    std::string text = table;
    for (std::size_t at = text.find(' '); at != std::string::npos; at = text.find(' ', at)) {
      text.replace(at, 1, blank);
    }
    texts.push_back(text);
  }
  for (const std::string& text : texts) {
    const ImportedRun run = read_log(text);
    EXPECT_EQ(run.points.size(), 4U) << text;
    EXPECT_EQ(all_notes(run), "") << text;
    for (const KeyedPoint& point : run.points) {
      EXPECT_EQ(point.key.axes.at("test"), "Latency") << text;
    }
    if (run.points.size() == 4) EXPECT_DOUBLE_EQ(run.points[3].point.summary.median, 106.36e-6);
  }
}

TEST(NcclTests, AreOneLogBehindTimesThatComeAgain) {
  int number = 0;
  const std::string text = each_line(right_nccl(), [&number](std::string_view line) {
    return fmt::format("launcher-x7kqz main 2026-08-01T10:00:0{}.5Z {}", ++number % 4, line);
  });
  EXPECT_EQ(read_log(text).points.size(), 12U) << all_notes(read_log(text));
}

}  // namespace
}  // namespace dlscale::regression::history
