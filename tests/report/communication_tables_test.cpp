#include "report/sections/message_sections.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/results/communication_profile.hpp"
#include "core/text/numbers.hpp"
#include "report/sections/sections.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

using testing::HasSubstr;

ProfiledMessage message(std::int64_t bytes, double time) {
  return {.collective = "all_reduce",
          .bytes = bytes,
          .posted = {Seconds(0.1), Seconds(0.1)},
          .wait = {Seconds(0), Seconds(0)},
          .time = {Seconds(time / 2), Seconds(time)}};
}

/// Two iterations on two ranks.
CommunicationProfile profile(const std::string& schedule,
                             const std::vector<ProfiledMessage>& messages) {
  CommunicationProfile made;
  made.axes = {{"network", "alexnet"}, {"batch", "32"}, {"ranks", "2"}, {"schedule", schedule}};
  made.library = "a library";
  made.iterations = {messages, messages};
  return made;
}

std::vector<ResultFile> profiled_results() {
  std::vector<Measurement> rows = profile_rows(
      profile("wait_free", {message(4096, 0.001), message(5000, 0.003), message(1 << 20, 0.004)}));
  ProfiledMessage all = message(4096 + 5000 + (1 << 20), 0.006);
  all.layers = 3;
  const auto fused = profile("bucketed", {all});
  for (Measurement& row : profile_rows(fused)) rows.push_back(std::move(row));
  return {samples::file("profile", std::move(rows))};
}

void expect_well_made(const Table& table) {
  for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << table.title;
}

TEST(CommunicationTables, AddUpAnIterationOfEachRun) {
  const Table runs = communication_summary(profiled_results()).at(0);
  expect_well_made(runs);
  ASSERT_EQ(runs.rows.size(), 2U);
  EXPECT_EQ(cell(runs, 0, "schedule"), "bucketed");
  EXPECT_EQ(cell(runs, 1, "messages"), "3");
  EXPECT_EQ(cell(runs, 1, "of 2^n bytes"), "2");
  EXPECT_EQ(cell(runs, 0, "fused"), "1");
  EXPECT_EQ(cell(runs, 1, "fused"), "");  // which is not told
  EXPECT_EQ(cell(runs, 1, "MB"), "1.058");
  EXPECT_EQ(cell(runs, 1, "ms"), "8.000");
  EXPECT_EQ(cell(runs, 1, "MB/s"), "132.2");
  EXPECT_EQ(cell(runs, 0, "MB"), "1.058");
}

TEST(CommunicationTables, HaveAllThatIsKnownOfEachRun) {
  const std::vector<Table> tables = communication_details(profiled_results());
  ASSERT_EQ(tables.size(), 2U);
  const Table& table = tables[1];
  expect_well_made(table);
  EXPECT_EQ(table.title, "Messages of alexnet, wait_free");
  EXPECT_EQ(cell(table, 0, "calls"), "2");
  EXPECT_EQ(cell(table, 0, "of 2^n bytes"), "1");
  EXPECT_EQ(cell(table, 0, "ms"), "4.000");
  EXPECT_EQ(cell(table, 0, "ms of 2^n bytes"), "1.000");
  EXPECT_EQ(cell(table, 0, "fused"), "");
  EXPECT_EQ(cell(tables[0], 0, "fused"), "1");
  EXPECT_EQ(cell(tables[0], 0, "ms of fused"), "6.000");
  EXPECT_EQ(cell(tables[0], 0, "ms of 2^n bytes"), milliseconds(Seconds(0)));
  EXPECT_EQ(cell(table, 0, "95 % from"), "1.000");
  EXPECT_EQ(cell(table, 0, "to"), "3.000");
}

TEST(CommunicationTables, AreNoneOfOtherResults) {
  const std::vector<ResultFile> others{samples::file("conv", {samples::timed("conv", {}, {1.0})})};
  EXPECT_TRUE(communication_summary(others).empty());
  EXPECT_TRUE(communication_details(others).empty());
}

TEST(CommunicationTables, AreASectionOfAPageOfNothingElse) {
  ReportInput input;
  input.trained = false;
  input.results = profiled_results();
  EXPECT_TRUE(tells_of_parts(input.results));
  const std::vector<Section> sections = report_sections(input);
  const auto found = std::ranges::find(sections, "communication", &Section::id);
  ASSERT_NE(found, sections.end());
  EXPECT_EQ(found->blocks.size(), 3U);
  for (const TextFile& page : markdown(report_page(input))) EXPECT_FALSE(page.text.empty());
}

TEST(CommunicationTables, SayWhereAProfileIsNotWhole) {
  std::vector<ResultFile> whole = profiled_results();
  ASSERT_TRUE(whole.front().complete);
  std::vector<ResultFile> torn = whole;
  torn.front().complete = false;
  for (const auto tables : {communication_summary, communication_details}) {
    ASSERT_FALSE(tables(torn).empty());
    for (const Table& table : tables(torn)) EXPECT_TRUE(says(table, "ends early")) << table.title;
    for (const Table& table : tables(whole)) EXPECT_FALSE(says(table, "ends early"));
  }
  EXPECT_TRUE(says(communication_summary(torn).front(), "alexnet, wait_free: "));
}

TEST(CommunicationTables, RefuseADamagedProfile) {
  std::vector<ResultFile> damaged = profiled_results();
  damaged.front().measurements.erase(damaged.front().measurements.begin());
  EXPECT_THROW(communication_summary(damaged), ConfigError);
}

}  // namespace
}  // namespace dlscale::report
