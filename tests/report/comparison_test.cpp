#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "report/comparison/compare.hpp"
#include "report/comparison/comparison_table.hpp"
#include "report/comparison/ranking.hpp"
#include "report/comparison/ratio.hpp"
#include "report/comparison/side_by_side.hpp"
#include "tests/report/expect_well_made.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

ResultSource trained(const std::string& name, double forward) {
  samples::PhaseTimes times;
  times.forward = forward;
  ResultSource source{name, {samples::file("e2e", {samples::e2e({}, times)})}, {}};
  source.results.front().header.environment.cpu = name + " CPU";
  return source;
}

TEST(SideBySide, GivesTimesAndRatiosToTheFirst) {
  const SideBySide all = side_by_side({trained("A", 0.2), trained("B", 1.2)});
  ASSERT_EQ(all.columns.size(), 2U);
  ASSERT_EQ(all.rows.size(), 1U);
  EXPECT_NEAR(all.rows[0].times[0].value().time.si(), 1.0, 1e-12);
  EXPECT_NEAR(all.rows[0].times[1].value().time.si(), 2.0, 1e-12);
  const Document document = side_by_side_document(all);
  expect_well_made(document);
  ASSERT_EQ(document.tables.size(), 3U);
  EXPECT_EQ(cell(document.tables[1], 0, "÷ first"), "2.00");
  EXPECT_EQ(document.tables[2].notes, std::vector<std::string>{"cpu: A: A CPU; B: B CPU"});
}

TEST(SideBySide, ListsTrainingsWithTheFastestOfEachQuestionFirst) {
  ResultSource gpu = trained("A", 0.2);
  gpu.results.front().header.environment.libraries["GPU"] = "Fast GPU";
  gpu.results.front().measurements.push_back(samples::e2e({"vgg16"}, {}));
  const Table table = side_by_side_document(side_by_side({trained("B", 1.2), gpu})).records;
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(cell(table, 0, "network") + cell(table, 2, "network"), "alexnetvgg16");
  EXPECT_EQ(cell(table, 0, "device"), "Fast GPU");
  EXPECT_EQ(cell(table, 0, "software"), "onednn");
  EXPECT_EQ(cell(table, 0, "batch"), "8");
  EXPECT_EQ(cell(table, 0, "samples_per_s"), "8");
  EXPECT_EQ(cell(table, 1, "device"), "B CPU");
  EXPECT_EQ(cell(table, 1, "place"), "2");
  EXPECT_EQ(cell(table, 1, "ratio_to_fastest"), "2");
}

TEST(SideBySide, PutsSchedulesOfOneFolderInColumnsOfTheirOwn) {
  ResultSource source = trained("A", 0.2);
  source.results.front().measurements.push_back(
      samples::e2e({"alexnet", 1, Schedule::sequential, 0}, {}));
  const SideBySide all = side_by_side({source});
  ASSERT_EQ(all.columns.size(), 2U);
  EXPECT_EQ(all.columns[0], "A · sequential");
  EXPECT_EQ(all.columns[1], "A · wait_free");
}

TEST(SideBySide, NeverJoinsRunsThatDifferInASetting) {
  ResultSource source = trained("A", 0.2);
  Measurement more = source.results.front().measurements.front();
  more.axes["threads"] = "2";
  source.results.front().measurements.push_back(more);
  const SideBySide all = side_by_side({source});
  ASSERT_EQ(all.columns.size(), 2U);
  EXPECT_EQ(all.columns[1], "A · threads=2");
}

TEST(SideBySide, NamesRanksOnANodeOnlyWhereThereAreSeveralNodes) {
  ResultSource source = trained("A", 0.2);
  std::vector<Measurement>& rows = source.results.front().measurements;
  rows.clear();
  for (const int ranks : {1, 2}) {
    for (const Schedule schedule : {Schedule::sequential, Schedule::wait_free}) {
      rows.push_back(samples::e2e({"alexnet", ranks, schedule, 0}, {}));
      rows.back().axes["ranks_on_node"] = std::to_string(ranks);
    }
  }
  EXPECT_EQ(side_by_side({source}).columns,
            (std::vector<std::string>{"A · sequential", "A · wait_free"}));
  rows.back().axes["ranks_on_node"] = "1";  // two nodes
  EXPECT_GT(side_by_side({source}).columns.size(), 2U);
}

TEST(SideBySide, LeavesOutWhatFailedAndCountsWhatStandsAlone) {
  ResultSource a = trained("A", 0.2);
  ResultSource b = trained("B", 0.2);
  b.results.front().measurements.front().status = Status::wrong;
  const SideBySide all = side_by_side({a, b});
  EXPECT_TRUE(all.rows.empty());
  EXPECT_EQ(all.alone, 1U);
}

TEST(SideBySide, HasNoColumnsWhereNothingIsInCommon) {
  ResultSource a = trained("A", 0.2);
  ResultSource b = trained("B", 0.2);
  Measurement other = b.results.front().measurements.front();
  b.results.front().measurements.clear();
  for (const char* threads : {"1", "2", "3", "4"}) {
    other.axes["network"] = "resnet50";
    other.axes["threads"] = threads;
    b.results.front().measurements.push_back(other);
  }
  const SideBySide all = side_by_side({a, b});
  const Document document = side_by_side_document(all);
  // The threads of B stand side by side with each other; A is in no row.
  EXPECT_EQ(all.columns.size(), 4U);
  for (const std::string& column : all.columns) EXPECT_TRUE(column.starts_with("B")) << column;
  b.results.front().measurements.resize(1);
  const SideBySide none = side_by_side({a, b});
  EXPECT_TRUE(none.columns.empty());
  EXPECT_TRUE(
      side_by_side_document(none).lead.starts_with("Nothing stands side by side: none of 2"))
      << side_by_side_document(none).lead;
}

TEST(SideBySide, OrdersNumbersByTheirValue) {
  ResultSource a{"A", {samples::file("e2e", {})}, {}};
  ResultSource b{"B", {samples::file("e2e", {})}, {}};
  for (const int ranks : {16, 1, 2, 128}) {
    const Measurement row = samples::e2e({"alexnet", ranks, Schedule::wait_free, 0}, {});
    for (ResultSource* source : {&a, &b}) source->results.front().measurements.push_back(row);
  }
  std::vector<std::string> ranks;
  for (const SideBySide::Row& row : side_by_side({a, b}).rows) {
    ranks.push_back(row.question.substr(row.question.find("ranks=") + 6));
  }
  EXPECT_EQ(ranks, (std::vector<std::string>{"1", "2", "16", "128"}));
}

TEST(SideBySide, SaysHowFarLoadsReach) {
  ResultSource a = trained("A", 0.2);
  const ResultSource b = trained("B", 0.2);
  const ResultFile file = a.results.front();
  a.results.clear();
  for (int i = 0; i < 120; ++i) {
    a.results.push_back(file);
    a.results.back().header.environment.load = fmt::format("{:.2f} 0.50 0.40 1/200 77", 0.1 * i);
  }
  const std::vector<std::string> all = side_by_side({a, b}).differences;
  const auto load =
      std::ranges::find_if(all, [](const std::string& line) { return line.starts_with("load:"); });
  ASSERT_NE(load, all.end());
  EXPECT_TRUE(load->starts_with("load: A: 0.00 – 11.90 in a minute before 120 runs; B: ")) << *load;
}

/// Five launches of a sample each, up to that share apart from the median.
Repeats launches_of(double seconds, double share) {
  Repeats launches;
  for (const double step : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
    launches.push_back({seconds * (1 + step * share)});
  }
  return launches;
}

/// Rows of times in ms by column, each with an interval of that share to both sides; 0 where a
/// column has none.
SideBySide times_of(const std::vector<std::vector<double>>& rows, double share = 0.01) {
  SideBySide all;
  for (std::size_t i = 0; i < rows.front().size(); ++i) {
    all.columns.push_back(std::string(1, static_cast<char>('A' + i)));
    all.predicted.push_back(false);
  }
  for (const std::vector<double>& times : rows) {
    SideBySide::Row row{fmt::format("row {}", all.rows.size()), {}};
    for (const double time : times) {
      const Seconds seconds(1e-3 * time);
      row.times.push_back(time > 0 ? std::optional(ComparedTime{seconds, seconds * (1 - share),
                                                                seconds * (1 + share),
                                                                launches_of(1e-3 * time, share)})
                                   : std::nullopt);
    }
    all.rows.push_back(std::move(row));
  }
  return all;
}

TEST(Ranking, ComparesColumnsByTheRowsThatAllOfThemHave) {
  // C has the two rows at which B is slow, so that its mean over what it has is the best.
  const Ranking ranking =
      ranking_of(times_of({{10, 8, 0}, {10, 8, 0}, {10, 9, 0}, {10, 9, 0}, {10, 40, 10}}));
  ASSERT_EQ(ranking.ranked.size(), 2U);
  EXPECT_EQ(ranking.ranked[0].column, "A");
  EXPECT_NEAR(ranking.ranked[1].ratio, std::pow(0.8 * 0.8 * 0.9 * 0.9 * 4, 0.2), 1e-12);
  EXPECT_NEAR(ranking.ranked[1].least, 0.8, 1e-12);
  EXPECT_NEAR(ranking.ranked[1].most, 4, 1e-12);
  EXPECT_EQ(ranking.ranked[0].fastest, 1U);
  EXPECT_EQ(ranking.ranked[1].fastest, 4U);
  ASSERT_EQ(ranking.unranked.size(), 1U);
  EXPECT_EQ(ranking.unranked[0].column, "C");
  EXPECT_EQ(ranking.unranked[0].rows, 1U);
  EXPECT_EQ(ranking.unranked[0].shared, 1U);
}

TEST(Ranking, KeepsColumnsThatShareMostRows) {
  const Ranking ranking = ranking_of(times_of({{4, 2, 1}, {4, 2, 1}, {1, 2, 0}}));
  ASSERT_EQ(ranking.ranked.size(), 3U);
  EXPECT_EQ(ranking.compared, 2U);
  EXPECT_EQ(ranking.ranked[0].column, "C");
  EXPECT_EQ(
      ranking_verdict(ranking),
      "C is fastest on average: 2.00 × as fast as B (95 % interval 1.97 to 2.03 ×) over the 2 "
      "measurements that all 3 columns have; B is faster in none.");
}

TEST(Ranking, CountsWhereTheNextIsFaster) {
  EXPECT_TRUE(contains(ranking_verdict(ranking_of(times_of({{1, 2}, {1, 2}, {2, 1}}))),
                       "over the 3 measurements that both have; B is faster in 1 of them."));
}

TEST(Ranking, NamesNoWinnerWhereTheIntervalOfTheRatioIncludes1) {
  const Ranking ranking = ranking_of(times_of({{10, 11, 30}, {10, 11, 30}}, 0.2));
  EXPECT_TRUE(ranking.ranked[1].ties);
  EXPECT_FALSE(ranking.ranked[2].ties);
  EXPECT_EQ(
      ranking_verdict(ranking),
      "The times do not tell A and B apart. B takes 1.10 × as long as A on average (95 % interval "
      "0.800 to 1.51 ×) over the 2 measurements that all 3 columns have; B is faster in none.");
}

TEST(Ranking, DecidesByTheIntervalOfTheRatio) {
  SideBySide all = times_of({{1, 1.017}}, 0.01);
  ASSERT_GT(*all.rows[0].times[0]->high, *all.rows[0].times[1]->low) << "the intervals overlap";
  EXPECT_TRUE(knows_fastest(ranking_of(all)));
  EXPECT_TRUE(ranking_verdict(ranking_of(all)).starts_with("A is fastest: 1.02 × as fast as B"))
      << ranking_verdict(ranking_of(all));
  all.rows[0].times[1]->launches = {{1.01e-3, 1.01e-3}, {1.03e-3, 1.03e-3}};
  EXPECT_FALSE(knows_fastest(ranking_of(all))) << "two launches have a wide interval";
}

TEST(Ranking, IsOfTrainingsAloneWhereThereAreAny) {
  SideBySide all = times_of({{1, 2}, {9, 1}, {9, 1}});
  all.rows[0].question = "e2e network=alexnet batch=8";
  const Ranking ranking = ranking_of(all);
  EXPECT_EQ(ranking.rows, 1U);
  EXPECT_EQ(ranking.ranked.front().column, "A");
  EXPECT_TRUE(contains(ranking_verdict(ranking), "in the 1 training that both have."));
}

TEST(Ranking, NamesNoWinnerAmongTimesOfOneLaunch) {
  SideBySide all = times_of({{1, 2, 1.001}});
  const Repeats one{{2e-3, 2e-3, 2e-3, 2e-3, 2e-3, 2.01e-3}};
  all.rows[0].times[1]->launches = one;
  const Ranking ranking = ranking_of(all);
  EXPECT_FALSE(knows_fastest(ranking));
  EXPECT_TRUE(has_intervals(ranking));
  EXPECT_EQ(ranking.ranked[2].column, "B");
  EXPECT_FALSE(ranking.ranked[2].low);
  EXPECT_TRUE(ranking_verdict(ranking).starts_with(
      "Not known which is fastest, since times of B rest on one launch, and launches differ; A has "
      "the least time. "))
      << ranking_verdict(ranking);
  EXPECT_TRUE(ranking_verdict(ranking).ends_with(" Measure 5 repeats of each."));
  all.rows[0].times[0]->launches = one;
  EXPECT_FALSE(has_intervals(ranking_of(all)));
  EXPECT_TRUE(contains(ranking_verdict(ranking_of(all)), "since some of these times rest on one"));
}

/// Launches of one row and column, whose logarithms vary by 2 %.
ComparedTime random_time(std::mt19937& generator) {
  std::normal_distribution<double> noise(0, 0.02);
  ComparedTime time{Seconds(1)};
  for (int launch = 0; launch < 5; ++launch) time.launches.push_back({std::exp(noise(generator))});
  return time;
}

TEST(Ranking, SeldomCallsAnEqualColumnSlowerHoweverManyThereAre) {
  std::mt19937 generator(1);
  int wrong = 0;
  for (int trial = 0; trial < 300; ++trial) {
    SideBySide all{.columns = {"A", "B", "C", "D", "E", "F"}};
    all.predicted.assign(6, false);
    SideBySide::Row& row = all.rows.emplace_back(SideBySide::Row{"row", {}});
    for (int i = 0; i < 6; ++i) row.times.emplace_back(random_time(generator));
    const Ranking ranking = ranking_of(all);
    wrong += std::ranges::count(ranking.ranked, true, &Standing::ties) < 6 ? 1 : 0;
  }
  EXPECT_LE(wrong, 30);  // 6 % of 300; without an allowance for 5 comparisons about 60
}

TEST(Ranking, OfManyRowsIsSurerThanThatOfOne) {
  std::mt19937 generator(2);
  SideBySide all{.columns = {"A", "B"}};
  all.predicted.assign(2, false);
  for (int row = 0; row < 16; ++row) {
    all.rows.push_back({"row", {random_time(generator), random_time(generator)}});
  }
  const auto width = [](const SideBySide& times) {
    const Standing last = ranking_of(times).ranked.back();
    return std::log(*last.high / *last.low);
  };
  SideBySide first = all;
  first.rows.resize(1);
  EXPECT_LT(width(all), 0.5 * width(first));  // by independent rows a quarter of it
  // Launches that slow all rows alike leave it as wide as that of one row.
  all.rows.assign(16, all.rows.front());
  EXPECT_NEAR(width(all), width(first), 1e-12);
}

/// The same times as predictions.
SideBySide predicted(SideBySide all) {
  all.predicted.assign(all.columns.size(), true);
  for (SideBySide::Row& row : all.rows) {
    for (auto& time : row.times) time->launches.clear();
  }
  return all;
}

TEST(Ranking, SaysThatTimesArePredicted) {
  SideBySide all = predicted(times_of({{1, 2}, {1, 2}}));
  const std::string both = ranking_verdict(ranking_of(all));
  EXPECT_TRUE(both.starts_with("A is predicted to be fastest on average: ")) << both;
  EXPECT_TRUE(contains(both, "(90 % interval 1.96 to 2.04 ×) over the 2 predictions that both"))
      << both;
  EXPECT_TRUE(contains(both, "Predictions of one machine share errors")) << both;
  all = times_of({{1, 2}, {1, 2}});
  all.predicted = {false, true};
  for (SideBySide::Row& row : all.rows) row.times[1]->launches.clear();
  const std::string one = ranking_verdict(ranking_of(all));
  EXPECT_TRUE(
      one.starts_with("A (measured) is fastest on average: 2.00 × as fast as B (predicted)"))
      << one;
  EXPECT_FALSE(contains(one, "share errors")) << one;
  const std::string tie = ranking_verdict(ranking_of(predicted(times_of({{1, 1.01}, {1, 1.01}}))));
  EXPECT_TRUE(tie.starts_with("The predictions do not tell A and B apart. B takes 1.01 ×")) << tie;
}

TEST(Ranking, NamesNoWinnerWhereTimesHaveNoInterval) {
  SideBySide all = times_of({{1, 2}});
  EXPECT_TRUE(knows_fastest(ranking_of(all)));
  all = predicted(all);
  all.rows[0].times[1]->low = {};
  EXPECT_FALSE(knows_fastest(ranking_of(all)));
  EXPECT_EQ(ranking_verdict(ranking_of(all)),
            "Not known which is fastest, since some of these times have no interval; A has the "
            "least time. B takes 2.00 × as long in the 1 prediction that both have.");
}

TEST(Ranking, SaysWhichColumnsShareTooFewRows) {
  const Ranking ranking = ranking_of(times_of({{1, 2, 0, 0}, {1, 1, 0, 0}, {0, 0, 1, 2}}));
  EXPECT_EQ(ranking.unranked.size(), 2U);
  EXPECT_EQ(ranking.unranked[0].shared, 0U);
  EXPECT_TRUE(contains(ranking_verdict(ranking),
                       "2 of 4 columns have too few of these times to be ranked."))
      << ranking_verdict(ranking);
}

TEST(Ranking, NamesNobodyWithoutASharedRow) {
  EXPECT_TRUE(ranking_of(SideBySide{}).ranked.empty());
}

}  // namespace
}  // namespace dlscale::report
