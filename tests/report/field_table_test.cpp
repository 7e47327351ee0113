#include "report/table/field_table.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/units.hpp"
#include "report/format/format.hpp"

namespace dlscale::report {
namespace {

struct Step {
  std::string layer;
  int batch = 1;
  Seconds time;
  std::optional<double> error;
  std::vector<std::string> notes;
};

Fields<Step> step_fields() {
  using F = Field<Step>;
  using enum Meaning;
  return {
      {"layer", key, &Step::layer, "layer", as::words},
      {"batch", key, &Step::batch},
      {"time_s", value, &Step::time, "time ms", as::milliseconds},
      F::table("size", [](const Step& step) { return step.batch > 8 ? "large" : "small"; }),
      {"error", value, &Step::error, "error", as::signed_percent},
      F::record("is_late", state, [](const Step& step) { return step.time > Seconds(1); }),
      F::json("twice",
              [](const Step& step) {
                return Json{{"time_s", value_of(2 * step.time)}};
              }),
      {"notes", remark, &Step::notes, "notes",
       [](const Step& step) {
         return Cell{std::to_string(step.notes.size()), Tone::caution};
       }},
  };
}

std::vector<Step> two_steps() {
  return {{"conv1", 4, Seconds(0.25), 0.5, {"a", "b"}}, {"fc", 16, Seconds(2), {}, {}}};
}

std::vector<std::string> texts(const std::vector<Cell>& cells) {
  std::vector<std::string> all;
  for (const Cell& cell : cells) all.push_back(cell.text);
  return all;
}

std::vector<std::string> headings(const Table& table) {
  std::vector<std::string> all;
  for (const Column& column : table.columns) all.push_back(column.heading);
  return all;
}

using Texts = std::vector<std::string>;

TEST(FieldTable, ShowsPeopleTheFieldsThatHaveAHeader) {
  const Table table = table_of(step_fields(), two_steps());
  EXPECT_EQ(headings(table), (Texts{"layer", "time ms", "size", "error", "notes"}));
  EXPECT_EQ(texts(table.rows.at(0)), (Texts{"conv1", "250.0", "small", "+50.0 %", "2"}));
  EXPECT_EQ(texts(table.rows.at(1)), (Texts{"fc", "2000", "large", "–", "0"}));
  EXPECT_EQ(table.columns.at(0).align, Align::left);
  EXPECT_EQ(table.columns.at(1).align, Align::right);
  EXPECT_EQ(table.rows.at(0).back().tone, Tone::caution);
}

TEST(FieldTable, WritesRecordsInFullAndLeavesEmptyWhatIsAbsent) {
  const Table records = records_of(step_fields(), two_steps());
  EXPECT_EQ(headings(records), (Texts{"layer", "batch", "time_s", "error", "is_late", "notes"}));
  EXPECT_EQ(texts(records.rows.at(0)), (Texts{"conv1", "4", "0.25", "0.5", "false", "a; b"}));
  EXPECT_EQ(texts(records.rows.at(1)), (Texts{"fc", "16", "2", "", "true", ""}));
  EXPECT_EQ(records.columns.at(2).meaning, Meaning::value);
}

TEST(FieldTable, WritesAnObjectARowWithNullForWhatIsAbsent) {
  const Json list = list_of(step_fields(), two_steps());
  EXPECT_EQ(list.at(0).dump(),
            R"({"layer":"conv1","batch":4,"time_s":0.25,"error":0.5,"twice":{"time_s":0.5},)"
            R"("notes":["a","b"]})");
  EXPECT_TRUE(list.at(1).at("error").is_null());
  EXPECT_TRUE(object_of(step_fields(), std::optional<Step>{}).is_null());
}

TEST(FieldTable, TakesTheFieldsOfAPart) {
  using Named = std::pair<int, Step>;
  const Fields<Named> fields =
      joined<Named>({{{"place", Meaning::key, &Named::first, "place", as::exact}},
                     part_of<Named>(picked(step_fields(), {"error", "layer"}), &Named::second)});
  const std::vector<Named> rows{{7, two_steps().front()}};
  EXPECT_EQ(texts(table_of(fields, rows).rows.front()), (Texts{"7", "+50.0 %", "conv1"}));
  EXPECT_EQ(list_of(fields, rows).dump(), R"([{"place":7,"error":0.5,"layer":"conv1"}])");
}

TEST(FieldTable, LeavesOutFormsAndFields) {
  const std::vector<Step> steps = two_steps();
  EXPECT_TRUE(table_of(for_programs(step_fields()), steps).columns.empty());
  EXPECT_TRUE(records_of(for_people(step_fields()), steps).columns.empty());
  EXPECT_TRUE(list_of(in_records(step_fields()), steps).at(0).empty());
  EXPECT_EQ(headings(records_of(without(step_fields(), {"batch", "notes"}), steps)),
            (Texts{"layer", "time_s", "error", "is_late"}));
}

TEST(FieldTable, WritesASettingThatIsAWholeNumberWithoutAPoint) {
  EXPECT_EQ(setting(4194304).dump(), "4194304");
  EXPECT_EQ(setting(0.0025).dump(), "0.0025");
  EXPECT_EQ(number(4).dump(), "4.0");
}

TEST(JsonText, IsMadeWhenAFormatAsksForIt) {
  int times = 0;
  Document document;
  document.records.columns = {{"a"}};
  document.json = json_answer("dlscale.sample", [&times] {
    ++times;
    return Json{{"rows", 3}};
  });
  for (const char* name : {"table", "markdown", "csv"}) {
    static_cast<void>(format::find_format(name).write(document, {}));
  }
  EXPECT_EQ(format::kind_of(document), "dlscale.sample");
  EXPECT_EQ(times, 0);
  EXPECT_EQ(format::find_format("json").write(document, {}),
            "{\n  \"schema\": \"dlscale.sample\",\n  \"version\": 1,\n  \"rows\": 3\n}\n");
  EXPECT_EQ(times, 1);
}

}  // namespace
}  // namespace dlscale::report
