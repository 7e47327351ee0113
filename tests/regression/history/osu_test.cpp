#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <tuple>

#include "core/base/error.hpp"
#include "histories.hpp"
#include "regression/history/run.hpp"

namespace dlscale::regression::history {
namespace {

ImportedRun read_osu(std::string_view text) {
  const samples::TemporaryFolder folder;
  samples::write_text(folder / "run", text);
  RunOptions options;
  options.commit = "c1";
  options.time = 1'700'000'000;
  return read_run((folder / "run").string(), options);
}

/// What reading refuses it with.
std::string osu_refusal(std::string_view text) {
  try {
    (void)read_osu(text);
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

constexpr std::string_view osu_full = R"(
# OSU MPI-CUDA Allreduce Latency Test v7.3
# Datatype: MPI_FLOAT.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
4                      20.10             19.00             21.00        1000
1048576               250.00            240.00            260.00         100
)";

TEST(Osu, TakesEveryListingOfTimesAndRates) {
  const ImportedRun run = read_osu(osu_full);
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
    const ImportedRun other = read_osu(text);
    ASSERT_EQ(other.points.size(), 1U) << text;
    EXPECT_EQ(other.points[0].key.metric, metric);
    EXPECT_DOUBLE_EQ(other.points[0].point.summary.median, value);
    if (!std::string_view(collective).empty()) {
      EXPECT_EQ(other.points[0].key.axes.at("collective"), collective);
    }
  }
}

TEST(Osu, LeavesOutWhatFailedAndRefusesWhatIsNone) {
  const ImportedRun run = read_osu(
      "# OSU MPI Allreduce Latency Test v7.0\n# Size       Avg Latency(us)        Validation\n8   "
      "4.5   Pass\n16   4.6   Fail\n32  0.00  Pass\n");
  EXPECT_EQ(run.points.size(), 1U);
  EXPECT_EQ(run.notes.size(), 2U);
  EXPECT_NE(osu_refusal("# OSU MPI Allreduce Latency Test v7.0\n").find("no rows"),
            std::string::npos);
  EXPECT_NE(
      osu_refusal("# OSU MPI Allreduce Latency Test v7.0\n8 4.5\n").find("before its headings"),
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
  EXPECT_EQ(read_osu("+ srun -l osu_allreduce\n" + labelled).points.size(), 1U);
  EXPECT_NE(osu_refusal(of_two).find("printed a table each"), std::string::npos);
}

}  // namespace
}  // namespace dlscale::regression::history
