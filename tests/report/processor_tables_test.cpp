#include "report/kernels/processor_tables.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/text/quantity_text.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

TEST(ProcessorTables, HaveLevelsArithmeticAndBandwidth) {
  const ReportInput input = samples::parts_input();
  const auto tables = processor_tables(input.results);
  ASSERT_EQ(tables.size(), 3);
  EXPECT_EQ(cell(tables[0], 0, "capacity"), "46.0 KiB (44.0 KiB to 48.0 KiB)");
  EXPECT_EQ(cell(tables[0], 0, "latency ns"), "1.25");
  EXPECT_EQ(cell(tables[0], 1, "capacity"), "beyond 256 KiB");
  EXPECT_TRUE(contains(tables[0].notes.at(0), "hwloc: L1 48.0 KiB measured 46.0 KiB"));
  EXPECT_EQ(cell(tables[1], 1, "instruction set"), "avx512");
  EXPECT_EQ(cell(tables[1], 1, "GFLOP/s"), "180.0");
  EXPECT_EQ(cell(tables[2], 0, "loop"), "as compiled");
  EXPECT_EQ(cell(tables[2], 0, "32.0 KiB"), "98.30");
  EXPECT_TRUE(processor_tables({}).empty());
}

TEST(ProcessorTables, HaveLinesAndTheReachOfPages) {
  const std::vector<ResultFile> files{samples::lines()};
  const auto tables = processor_tables(files);
  ASSERT_EQ(tables.size(), 2);
  EXPECT_EQ(cell(tables[0], 0, "pages"), "small");
  EXPECT_EQ(cell(tables[0], 0, "line"), to_text(Bytes(64)));
  EXPECT_EQ(cell(tables[0], 0, "system says"), to_text(Bytes(128)));
  EXPECT_EQ(tables[0].rows[0][1].tone, Tone::caution);
  ASSERT_EQ(tables[1].rows.size(), 2);
  EXPECT_EQ(cell(tables[1], 0, "reach"), "384 KiB (320 KiB to 448 KiB)");
  EXPECT_EQ(cell(tables[1], 0, "latency ns"), "1.00");
  EXPECT_EQ(cell(tables[1], 1, "reach"), "beyond 8.00 MiB");
  EXPECT_TRUE(contains(tables[1].notes.front(), "pages of 4.00 KiB"));
  ResultFile silent = samples::lines();
  silent.measurements.pop_back();
  silent.measurements.front().series.erase("line");
  silent.measurements.front().series.erase("told_line");
  const auto unseen = processor_tables(std::vector{silent});
  ASSERT_EQ(unseen.size(), 1);
  EXPECT_EQ(cell(unseen[0], 0, "line"), "not seen");
  EXPECT_EQ(cell(unseen[0], 0, "system says"), "–");
}

TEST(ProcessorTables, HaveArithmeticOverArraysByIntensity) {
  std::vector<Measurement> rows;
  for (const double intensity : {0.0625, 64.0}) {
    for (const char* bytes : {"16384", "1048576"}) {
      Measurement row = samples::peaks().measurements.front();
      row.axes["operation"] = std::string("intensity");
      row.axes["bytes"] = std::string(bytes);
      row.axes["intensity"] = intensity < 1 ? std::string("0.0625") : std::string("64");
      row.work = Work{Flops(1e9 * intensity), Bytes(1e9)};
      rows.push_back(row);
    }
  }
  rows.pop_back();
  const auto tables = processor_tables(std::vector{samples::file("peak", rows)});
  ASSERT_EQ(tables.size(), 1);
  ASSERT_EQ(tables[0].rows.size(), 2);
  EXPECT_EQ(cell(tables[0], 0, "instruction set"), "avx2");
  EXPECT_EQ(cell(tables[0], 1, "array"), to_text(Bytes(1048576)));
  EXPECT_EQ(cell(tables[0], 0, "64"), "64.00");
  EXPECT_EQ(cell(tables[0], 1, "0.0625"), "0.06250");
  EXPECT_EQ(cell(tables[0], 1, "64"), "");
}

TEST(ProcessorTables, TakeTheMiddleOfRepeatedBandwidths) {
  ResultFile once = samples::memory();
  ResultFile twice = once;
  for (const double factor : {4.0, 2.0}) {
    Measurement again = once.measurements.front();
    again.work->bytes = factor * again.work->bytes;
    twice.measurements.push_back(again);
  }
  const Table alone = processor_tables(std::vector{once}).front();
  const Table both = processor_tables(std::vector{twice}).front();
  const std::string heading = alone.columns.at(5).heading;
  EXPECT_NEAR(std::stod(cell(both, 0, heading)), 2 * std::stod(cell(alone, 0, heading)), 0.1);
}

}  // namespace
}  // namespace dlscale::report
