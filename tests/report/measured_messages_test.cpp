#include "report/sections/message_sections.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/text/numbers.hpp"
#include "report/sections/sections.hpp"
#include "report/sections/summary.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

using testing::HasSubstr;

/// An all-reduce of so many bytes that takes so long in each of six samples.
Measurement all_reduce(std::size_t bytes, double seconds, const std::string& algorithm = "library",
                       int ranks = 2) {
  return samples::timed("comm",
                        {{"collective", "all_reduce"},
                         {"bytes", std::to_string(bytes)},
                         {"algorithm", algorithm},
                         {"ranks", std::to_string(ranks)},
                         {"ranks_on_node", "2"},
                         {"waiting", "spin"},
                         {"dtype", "f32"},
                         {"op", "sum"}},
                        std::vector<double>(6, seconds));
}

Measurement without_time(Measurement row, Status status, const std::string& reason) {
  row.series.clear();
  row.status = status;
  row.reason = reason;
  return row;
}

std::vector<ResultFile> message_results() {
  Measurement ring = all_reduce(1 << 20, 2e-3, "ring");
  ring.algorithmic_work = {Flops(0), Bytes(1 << 20)};
  Measurement shaky = all_reduce(4096, 1e-5, "library", 4);
  shaky.status = Status::unstable;
  shaky.reason = "too wide";
  return {samples::file(
      "comm",
      {all_reduce(1 << 20, 1e-3), all_reduce(4096, 1e-5), all_reduce(1 << 16, 1e-4), ring, shaky,
       without_time(all_reduce(4096, 1, "ring"), Status::unsupported, "not offered")})};
}

Measurement beside() {
  Measurement row = all_reduce(1 << 20, 3e-3);
  row.axes["beside"] = "gemm";
  row.axes["beside_work"] = "1";
  for (const auto& [name, value] :
       std::map<std::string, double>{{"compute_alone", 1e-3}, {"messages_alone", 1e-3}}) {
    row.series[name] = make_series("s", {std::vector<double>(6, value)});
  }
  row.series["exposed"] = make_series("s", {std::vector<double>(6, 2e-4)});
  row.series["compute_slowdown"] = make_series("1", {std::vector<double>(6, 1.5)});
  row.series["messages_slowdown"] = make_series("1", {std::vector<double>(6, 3)});
  row.series["overlap_efficiency"] = make_series("1", {{-0.25, -0.25, -0.25, -0.25, -0.25, -0.25}});
  return row;
}

TEST(MessageSummary, HasARowForEachAlgorithmAndSetting) {
  const std::vector<Table> tables = message_summary(message_results());
  ASSERT_EQ(tables.size(), 1U);
  const Table& table = tables.front();
  ASSERT_EQ(table.rows.size(), 3U);  // of the library on 2 and on 4 ranks, and the ring
  EXPECT_EQ(cell(table, 0, "algorithm"), "library");
  EXPECT_EQ(cell(table, 0, "ranks"), "2");
  EXPECT_EQ(cell(table, 0, "nodes"), "1");
  EXPECT_EQ(cell(table, 0, "sizes"), "3");
  EXPECT_EQ(cell(table, 0, "takes"), "10.00 us");
  EXPECT_EQ(cell(table, 0, "largest busbw GB/s"), significant((1 << 20) / 1e-3 * 1e-9, 4));
  EXPECT_THAT(cell(table, 0, "at"), HasSubstr("MiB"));
  EXPECT_EQ(cell(table, 0, "unstable"), "");
  EXPECT_EQ(cell(table, 1, "ranks"), "4");
  EXPECT_EQ(cell(table, 1, "nodes"), "2");
  EXPECT_EQ(cell(table, 1, "unstable"), "1");
  EXPECT_EQ(cell(table, 2, "algorithm"), "ring");
  EXPECT_EQ(cell(table, 2, "sizes"), "1");
  EXPECT_EQ(cell(table, 2, "without a time"), "1");
}

TEST(MessageSummary, TellsMemoryOfDevicesApartAndWhatTheLibraryExpects) {
  Measurement device = all_reduce(4096, 1e-6);
  device.axes["memory"] = "device";
  device.series["library_estimate"] = make_series("s", {{2e-6}});
  std::vector<ResultFile> files{samples::file("comm", {all_reduce(4096, 1e-5), device})};
  const Table curves = message_summary(files).front();
  ASSERT_EQ(curves.rows.size(), 2U);
  EXPECT_NE(cell(curves, 0, "memory"), cell(curves, 1, "memory"));
  const Table sizes = message_details(files).at("all_reduce").front();
  ASSERT_EQ(sizes.rows.size(), 2U);
  const std::size_t row = cell(sizes, 0, "memory") == "device" ? 0 : 1;
  EXPECT_EQ(cell(sizes, row, "library expects"), "2.000 us");
  EXPECT_EQ(cell(sizes, 1 - row, "library expects"), "");
  files.front().measurements.pop_back();
  EXPECT_FALSE(has_column(message_details(files).at("all_reduce").front(), "library expects"));
}

TEST(MessageSummary, TellsFilesOfTheSameSettingApart) {
  std::vector<ResultFile> files{samples::file("comm", {all_reduce(4096, 1e-5)}),
                                samples::file("comm", {all_reduce(4096, 2e-5)})};
  files[1].path = "results/other.jsonl";
  const Table table = message_summary(files).front();
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(cell(table, 0, "file"), "comm.jsonl");
  EXPECT_EQ(cell(table, 1, "file"), "other.jsonl");
  files[1].path = "elsewhere/comm.jsonl";
  EXPECT_EQ(cell(message_summary(files).front(), 0, "file"), "elsewhere/comm.jsonl");
  files[1].path = "results/below/comm.jsonl";
  EXPECT_EQ(cell(message_summary(files).front(), 0, "file"), "below/comm.jsonl");
}

TEST(MessageSummary, SaysWhichLinksJoinedTheHosts) {
  std::vector<ResultFile> files{
      samples::file("comm", {all_reduce(4096, 1e-5, "library", 4), all_reduce(4096, 1e-6)})};
  files.front().header.environment.variables["DLSCALE_CLUSTER"] =
      "2 hosts on one machine with cores 0 | 1, links of 1Gb/s by tc tbf";
  const Table table = message_summary(files).front();
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(cell(table, 0, "links"), "");  // 2 ranks of one node
  EXPECT_THAT(cell(table, 1, "links"), HasSubstr("1Gb/s"));
}

TEST(MessageSummary, SaysWhatMessagesAndWorkCostEachOther) {
  const std::vector<ResultFile> files{samples::file("comm", {beside()})};
  const std::vector<Table> tables = message_summary(files);
  ASSERT_EQ(tables.size(), 1U);
  const Table& table = tables.front();
  EXPECT_EQ(table.title, "Messages beside other work");
  EXPECT_EQ(cell(table, 0, "beside"), "gemm");
  EXPECT_EQ(cell(table, 0, "work alone"), "1.000 ms");
  EXPECT_EQ(cell(table, 0, "work slower by"), "1.50");
  EXPECT_EQ(cell(table, 0, "messages slower by"), "3.00");
  EXPECT_EQ(cell(table, 0, "overlap efficiency"), "-0.250");
  EXPECT_EQ(cell(table, 0, "95 %"), "-0.25 to -0.25");
  EXPECT_EQ(cell(table, 0, "exposed"), "200.0 us");
}

TEST(MessageDetails, HaveATableForEachCollectiveAndAlgorithm) {
  const auto details = message_details(message_results());
  ASSERT_EQ(details.size(), 1U);
  const std::vector<Table>& tables = details.at("all_reduce");
  ASSERT_EQ(tables.size(), 2U);
  const Table& library = tables[0];
  EXPECT_THAT(library.title, HasSubstr("all_reduce, algorithm library: "));
  EXPECT_THAT(library.title, HasSubstr("dtype=f32"));
  ASSERT_EQ(library.rows.size(), 4U);
  for (const auto& row : library.rows) EXPECT_EQ(row.size(), library.columns.size());
  EXPECT_EQ(cell(library, 0, "bytes"), "4096");
  EXPECT_EQ(cell(library, 1, "bytes"), "65536");  // by value, not by letters
  EXPECT_EQ(cell(library, 0, "time"), "10.00 us");
  EXPECT_EQ(cell(library, 0, "95 %"), "±0.0 %");
  EXPECT_EQ(cell(library, 0, "algbw GB/s"), significant(0.4096, 4));
  EXPECT_FALSE(has_column(library, "wirebw GB/s"));
  EXPECT_EQ(cell(library, 0, "status"), "");
  EXPECT_EQ(cell(library, 3, "ranks"), "4");
  EXPECT_EQ(cell(library, 3, "busbw GB/s"), significant(1.5 * 0.4096, 4));
  EXPECT_EQ(cell(library, 3, "status"), "unstable");
  EXPECT_THAT(library.notes, testing::Contains("unstable (1 cell)"));
  const Table& ring = tables[1];
  EXPECT_EQ(cell(ring, 0, "status"), "unsupported");
  EXPECT_EQ(cell(ring, 0, "time"), "");
  EXPECT_EQ(cell(ring, 1, "wirebw GB/s"), significant((1 << 20) / 2e-3 * 1e-9, 4));
  EXPECT_THAT(ring.notes, testing::Contains(HasSubstr("not offered")));
}

TEST(MessageDetails, LeaveOutWhatHasATableOfItsOwn) {
  EXPECT_TRUE(message_details(std::vector{samples::file("comm", {beside()})}).empty());
  const std::vector others{samples::file("conv", {samples::timed("conv", {}, {1.0})})};
  EXPECT_TRUE(message_details(others).empty());
  EXPECT_TRUE(message_summary(others).empty());
}

std::vector<Section> sections_of(std::vector<ResultFile> files) {
  ReportInput input;
  input.trained = false;
  input.results = std::move(files);
  EXPECT_TRUE(tells_of_parts(input.results));
  EXPECT_FALSE(parts_document(input).tables.empty());
  for (const TextFile& page : markdown(report_page(input))) EXPECT_FALSE(page.text.empty());
  return report_sections(input);
}

Section section_named(const std::vector<Section>& sections, const std::string& id) {
  const auto found = std::ranges::find(sections, id, &Section::id);
  if (found != sections.end()) return *found;
  ADD_FAILURE() << "no section " << id;
  return {};
}

TEST(MessageSection, IsAPageOfNothingElse) {
  const std::vector<Section> sections = sections_of(message_results());
  // The summary, where two figures go, and a table for each of two algorithms.
  EXPECT_EQ(section_named(sections, "messages").blocks.size(), 5U);
}

TEST(MessageSection, PutsManyRowsOnPagesOfTheirOwn) {
  std::vector<Measurement> rows;
  for (std::size_t bytes = 4; bytes < 4 + 4 * 201; bytes += 4) rows.push_back(all_reduce(bytes, 1));
  ReportInput input;
  input.trained = false;
  input.results = {samples::file("comm", std::move(rows))};
  const std::vector<TextFile> pages = markdown(report_page(input));
  ASSERT_EQ(pages.size(), 2U);
  EXPECT_EQ(pages[1].file.generic_string(), "messages/all_reduce.md");
  EXPECT_TRUE(is_page_text(pages[1].text));
  EXPECT_THAT(pages[1].text, HasSubstr("# Messages of all_reduce\n"));
  EXPECT_THAT(pages[0].text, HasSubstr("(<messages/all_reduce.md>)"));
}

}  // namespace
}  // namespace dlscale::report
