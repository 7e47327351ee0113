// Rows whose headings or title were garbled, or that have a label of their own: a note names them.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "logs.hpp"

namespace dlscale::regression::history {
namespace {

using namespace logs;

constexpr std::string_view nccl_row =
    "        2048           512     float     sum      -1    25.00    0.08    0.15       0    25.10"
    "    0.08    0.15       0\n";
constexpr std::string_view osu_title = "# OSU MPI Allreduce Latency Test v7.3\n";
constexpr std::string_view osu_headings = "# Size       Avg Latency(us)\n";

std::string osu(std::string_view before, std::string_view within) {
  return std::string(before) + std::string(osu_title) + std::string(osu_headings) + "8   12.50\n" +
         std::string(within) + "16   13.50\n";
}

/// A table before which a part is missing, and what its note says.
using Garbled = std::pair<std::string, std::string_view>;

TEST(RowsWithoutHeadings, AreNamedAsLeftOut) {
  const std::string row(nccl_row);
  const std::string second = right_nccl() + "# nThread 1 nGpus 2 iters: 20\n";
  const std::vector<Garbled> logs{
      {second + row, "left out: 1 row without headings"},
      {second + "#       size  count  type\n" + row + row, "left out: 2 rows without headings"},
      {right_nccl() + "3: " + row, "left out: 1 row without headings"},
      // A garbled size looks like the label of another process.
      {right_nccl() + replaced(row, "2048", "2048:"), "left out: 1 row without headings"},
      {right_nccl() + replaced(row, "2048", "1-"), "left out: 1 row without headings"},
      {right_nccl() + replaced(row, "2048", "[8]"), "which comes after the end of all_reduce"},
      {row + right_nccl(), "left out: 1 row without headings before, the first in line 1"},
      {osu("", "  1- 9.16\n"), "left out: 1 row without headings before, the first in line 4"},
      {osu("", "3: 32  9.16\n3: 64  9.26\n"), "left out: 2 rows without headings"},
      {osu("# OSX MPI Bcast\n" + std::string(osu_headings) + "8   9.16\n", ""),
       "left out: 1 row without headings"},
      {osu("8   9.16\n", ""), "left out: 1 row without headings before, the first in line 1"}};
  for (const auto& [log, note] : logs) {
    const ImportedRun run = read_log(log);
    EXPECT_FALSE(run.points.empty()) << log;
    EXPECT_NE(all_notes(run).find(note), std::string::npos) << log << all_notes(run);
  }
}

TEST(RowsWithoutHeadings, AreNoOtherLinesOfALog) {
  for (const std::string_view line :
       {"8 ranks\n", "2 2.5.1\n", "1: 4 nodes\n", "# 8 9.16\n", "12\n"}) {
    EXPECT_EQ(all_notes(read_log(osu(line, ""))).find("without headings"), std::string::npos)
        << line;
  }
}

/// Each row has two sides.
TEST(Rows, WithAGarbledCellAreLeftOutWhole) {
  for (const auto& [good, bad] :
       {std::pair{"43.80    0.02", "x    0.02"}, std::pair{"43.80    0.02", "43.80   1e999"},
        std::pair{"45.80    0.02", "45,80    0.02"}, std::pair{"25.00    0.00", "25.00    N/A"}}) {
    const ImportedRun run = read_log(replaced(right_nccl(), good, bad));
    EXPECT_EQ(run.points.size(), 6U) << bad;
    ASSERT_EQ(run.notes.size(), 1U) << bad;
    EXPECT_TRUE(run.notes.front().starts_with("left out: line ")) << run.notes.front();
  }
}

/// The second heading of times is garbled, so that the columns behind it are there twice.
TEST(Headings, WithOneColumnTwiceAfterATimeAreRefused) {
  const std::string log = right_nccl();
  const std::size_t time = log.rfind(" time ");
  ASSERT_NE(time, std::string::npos);
  for (const std::string_view garbled : {" tXme ", " tim ", " t\xFFme "}) {
    const std::string damaged = log.substr(0, time) + std::string(garbled) + log.substr(time + 6);
    EXPECT_NE(log_refusal(damaged).find("two columns algbw after one time"), std::string::npos)
        << log_refusal(damaged);
  }
}

/// The first heading of times is garbled, so that the first side would be parameters.
TEST(Headings, WithBandwidthsBeforeTheFirstTimeAreRefused) {
  const std::string log = right_nccl();
  const std::size_t time = log.find(" time ");
  ASSERT_NE(time, std::string::npos);
  for (const std::string_view garbled : {" mime ", " tim ", " t\xFFme ", " time1 "}) {
    const std::string damaged = log.substr(0, time) + std::string(garbled) + log.substr(time + 6);
    EXPECT_NE(log_refusal(damaged).find("column algbw before the first time"), std::string::npos)
        << log_refusal(damaged);
  }
}

}  // namespace
}  // namespace dlscale::regression::history
