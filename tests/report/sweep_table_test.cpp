// Documents of sweeps.
#include "report/prediction/sweep_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/report/expect_well_made.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

using ParsedJson = nlohmann::json;

SweepRow sample(int ranks, int batch, double seconds) {
  Run run;
  run.network = "alexnet";
  run.cluster = "some";
  run.ranks = ranks;
  run.batch = batch;
  SweepRow row{samples::prediction(run, {})};
  row.prediction.time.total = Seconds(seconds);
  row.prediction.images_per_s = ranks * batch / seconds;
  return row;
}

TEST(SweepTable, MarksTheBest) {
  // 1 rank: 8 and 10 images a second; 2 ranks: 20 twice, and 15.
  const std::vector<SweepRow> rows{sample(1, 8, 1), sample(1, 10, 1), sample(2, 10, 1),
                                   sample(2, 20, 2), sample(2, 15, 2)};
  using enum SweepMark;
  EXPECT_EQ(best_rows(rows), (std::vector<SweepMark>{none, of_its_ranks, of_all, none, none}));
  EXPECT_TRUE(best_rows({}).empty());
}

TEST(SweepTable, ComparesRowsOverTheSameLink) {
  std::vector<SweepRow> rows{sample(2, 8, 1), sample(2, 8, 2), sample(2, 8, 3)};
  LinkSpec slow;
  slow.bandwidth = BytesPerSecond(1e9);
  rows[1].link = rows[2].link = slow;
  using enum SweepMark;
  EXPECT_EQ(best_rows(rows), (std::vector<SweepMark>{of_all, of_its_ranks, none}));
  const Document document = sweep_document({rows, {}});
  expect_well_made(document);
  EXPECT_EQ(document.tables.front().rows[1][3].text, "1.00 GB/s");
  EXPECT_EQ(document.tables.front().rows[0][3].text, "–");
  const ParsedJson json = ParsedJson::parse(document.json());
  EXPECT_EQ(json["schema"], "dlscale.sweep");
  EXPECT_TRUE(json["rows"][0]["inter_node"].is_null());
  EXPECT_EQ(json["rows"][1]["inter_node"]["bandwidth_bytes_per_s"], 1e9);
  EXPECT_EQ(json["rows"][0]["best"], "all");
  EXPECT_EQ(json["rows"][1]["best"], "ranks");
  EXPECT_TRUE(json["rows"][2]["best"].is_null());
}

TEST(SweepTable, SaysWhatWasLeftOut) {
  Sweep sweep{{sample(1, 8, 1)}, {}};
  for (int i = 0; i < 12; ++i) sweep.left_out.push_back("batch " + std::to_string(i));
  const Document document = sweep_document(sweep);
  expect_well_made(document);
  const auto& notes = document.tables.front().notes;
  const auto told = std::ranges::count_if(
      notes, [](const std::string& note) { return note.starts_with("left out: "); });
  EXPECT_EQ(told, 11);
  EXPECT_NE(std::ranges::find(notes, "left out: 2 more (all of them with --format json)"),
            notes.end());
  EXPECT_EQ(ParsedJson::parse(document.json())["left_out"].size(), 12U);
  EXPECT_EQ(document.records.rows.front().back().text, "of all");
}

}  // namespace
}  // namespace dlscale::report
