#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/base/statistics.hpp"
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

using regression::Verdict;

Repeats noisy(int repeats, int samples, double centre, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> noise(0, 0.02);
  Repeats result;
  for (int r = 0; r < repeats; ++r) {
    std::vector<double> times;
    times.reserve(static_cast<std::size_t>(samples));
    for (int i = 0; i < samples; ++i) times.push_back(centre * std::exp(noise(generator)));
    result.push_back(times);
  }
  return result;
}

// Critical values of Mann-Whitney's U, two-sided 5 %, from the usual tables (Mann & Whitney 1947).
TEST(MannWhitney, AgreesWithPublishedCriticalValues) {
  EXPECT_EQ(mann_whitney_trim(4, 4), 0);
  EXPECT_EQ(mann_whitney_trim(5, 5), 2);
  EXPECT_EQ(mann_whitney_trim(5, 8), 6);
  EXPECT_EQ(mann_whitney_trim(8, 8), 13);
  EXPECT_EQ(mann_whitney_trim(10, 10), 23);
  EXPECT_EQ(mann_whitney_trim(20, 20), 127);
}

/// The interval by all ratios of runs in their order.
TEST(RatioOfMedians, IsThatOfAllRatiosInTheirOrder) {
  for (const auto& [n, m] : {std::pair{5, 8}, std::pair{20, 20}, std::pair{7, 60}}) {
    Repeats a = noisy(n, 1, 1.0, 3);
    Repeats b = noisy(m, 1, 1.05, 4);
    a[1] = a[0];
    b[2] = b[0] = a[0];
    std::vector<double> all;
    for (const auto& of_a : a) {
      for (const auto& of_b : b) all.push_back(std::log(of_b[0]) - std::log(of_a[0]));
    }
    std::ranges::sort(all);
    const auto trim = static_cast<std::size_t>(mann_whitney_trim(n, m));
    const Ratio ratio = ratio_of_medians(a, b);
    EXPECT_EQ(ratio.low, std::exp(all[trim]));
    EXPECT_EQ(ratio.high, std::exp(all[all.size() - 1 - trim]));
    EXPECT_EQ(ratio.value, std::exp(median(all)));
  }
}

TEST(RatioOfMedians, TakesManyRunsWithoutKeepingAllTheirRatios) {
  const Ratio ratio = ratio_of_medians(noisy(20'000, 1, 1.0, 5), noisy(20'000, 1, 1.1, 6));
  EXPECT_NEAR(ratio.value, 1.1, 0.001);
  EXPECT_GT(ratio.low, 1.098);
  EXPECT_LT(ratio.high, 1.102);
}

/// P(U = 0), P(U = 1), …, of probabilities, which do not overflow: the largest of the n + m values
/// is one of the m with probability m / (n + m), and then U counts all n below it.
std::vector<double> exact_shares(int n, int m) {
  std::vector<std::vector<double>> shares(n + 1, std::vector<double>{1});
  for (int j = 1; j <= m; ++j) {
    for (int i = 1; i <= n; ++i) {
      const std::vector<double> without_second = shares[i];  // of i and j - 1 values
      std::vector<double> both(static_cast<std::size_t>(i) * j + 1, 0);
      const double second = static_cast<double>(j) / (i + j);
      for (std::size_t u = 0; u < without_second.size(); ++u) {
        both[u + i] += second * without_second[u];
      }
      for (std::size_t u = 0; u < shares[i - 1].size(); ++u) {
        both[u] += (1 - second) * shares[i - 1][u];
      }
      shares[i] = std::move(both);
    }
  }
  return shares[n];
}

TEST(MannWhitney, IsApproximatedWhereCountingTakesTooLong) {
  for (const auto& [n, m] :
       {std::pair{51, 50}, std::pair{50, 51}, std::pair{5, 501}, std::pair{120, 30}}) {
    const std::vector<double> shares = exact_shares(n, m);
    const int trim = mann_whitney_trim(n, m);
    ASSERT_GT(trim, 0);
    const double below = std::accumulate(shares.begin(), shares.begin() + trim + 1, 0.0);
    EXPECT_NEAR(below, 0.025, 0.0015) << n << " and " << m;
  }
}

TEST(MannWhitney, KnowsNoNumberOfRepeatsTooMany) {
  const int trim = mann_whitney_trim(600, 600);  // counts of so many overflow a double
  EXPECT_GT(trim, 160'000);
  EXPECT_LT(trim, 180'000);
  const Ratio ratio = ratio_of_medians(noisy(520, 1, 1.0, 1), noisy(520, 1, 1.1, 2), 0.01);
  EXPECT_NEAR(ratio.value, 1.1, 0.01);
  EXPECT_LT(ratio.low, ratio.value);
  EXPECT_GT(ratio.high, ratio.value);
  EXPECT_LT(ratio.p_larger, 1e-6);
  EXPECT_GT(ratio.p_smaller, 1 - 1e-6);
}

TEST(Ratio, FromRepeatsCoversTheTruthNineteenTimesInTwenty) {
  int covered = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const Ratio ratio =
        ratio_of_medians(noisy(6, 1, 1.0, 2 * seed), noisy(6, 1, 1.1, 2 * seed + 1));
    covered += ratio.low <= 1.1 && 1.1 <= ratio.high ? 1 : 0;
  }
  EXPECT_GE(covered, 372);  // exact coverage is 95.9 %: fewer has probability < 1 in 500
}

/// Launches that differ by 2 %, each of six samples that hardly do.
Repeats apart(int launches, double centre, unsigned seed) {
  Repeats result = noisy(launches, 1, centre, seed);
  for (std::vector<double>& samples : result) {
    const double first = samples.front();
    for (int i = 1; i < 6; ++i) samples.push_back(first * (1 + 1e-4 * i));
  }
  return result;
}

TEST(Ratio, FromFewLaunchesCoversTheTruthNineteenTimesInTwenty) {
  for (const int launches : {2, 3, 4}) {
    int covered = 0;
    for (unsigned seed = 0; seed < 400; ++seed) {
      const Ratio ratio = ratio_of_medians(apart(launches, 1.0, 2 * seed),
                                           apart(launches, 1.1, 2 * seed + 1));
      covered += ratio.low <= 1.1 && 1.1 <= ratio.high ? 1 : 0;
    }
    EXPECT_GE(covered, 366) << launches;  // of 95 % fewer has probability < 1 in 500
  }
}

TEST(Ratio, FromSamplesCoversTheTruthMostOfTheTime) {
  int covered = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    const Ratio ratio =
        ratio_of_medians(noisy(1, 30, 1.0, 2 * seed), noisy(1, 30, 1.1, 2 * seed + 1));
    covered += ratio.low <= 1.1 && 1.1 <= ratio.high ? 1 : 0;
  }
  EXPECT_GE(covered, 48);
}

TEST(Ratio, IsInvertedWhenTheSidesAreSwapped) {
  for (const int repeats : {1, 3, 5}) {
    const Repeats a = noisy(repeats, 20, 1.0, 1);
    const Repeats b = noisy(repeats, 20, 1.3, 2);
    const Ratio forward = ratio_of_medians(a, b);
    const Ratio backward = ratio_of_medians(b, a);
    EXPECT_NEAR(forward.value * backward.value, 1, 1e-12) << repeats;
    EXPECT_NEAR(forward.low * backward.high, 1, 1e-9) << repeats;
    EXPECT_NEAR(forward.high * backward.low, 1, 1e-9) << repeats;
  }
}

TEST(Ratio, DoesNotChangeWithTheUnit) {
  const Ratio seconds = ratio_of_medians(noisy(5, 3, 1.0, 7), noisy(5, 3, 1.2, 8));
  const Ratio milliseconds = ratio_of_medians(noisy(5, 3, 1e3, 7), noisy(5, 3, 1.2e3, 8));
  EXPECT_NEAR(seconds.low, milliseconds.low, 1e-12);
  EXPECT_NEAR(seconds.high, milliseconds.high, 1e-12);
}

TEST(Ratio, OfTheSameSamplesIsTheSameEveryTime) {
  const Repeats a = noisy(2, 25, 1.0, 3);
  const Repeats b = noisy(2, 25, 1.05, 4);
  const Ratio first = ratio_of_medians(a, b);
  const Ratio second = ratio_of_medians(a, b);
  EXPECT_EQ(first.low, second.low);
  EXPECT_EQ(first.high, second.high);
}

TEST(Ratio, SaysHowTheIntervalWasFound) {
  EXPECT_EQ(ratio_of_medians(noisy(5, 3, 1, 1), noisy(6, 3, 1, 2)).method, "5 and 6 repeats");
  EXPECT_EQ(ratio_of_medians(noisy(5, 3, 1, 1), noisy(2, 6, 1, 2)).method,
            "t interval of 5 and 2 launches");
  const std::string method = ratio_of_medians(noisy(5, 3, 1, 1), noisy(1, 12, 1, 2)).method;
  EXPECT_TRUE(contains(method, "bootstrap of 15 and 12 samples")) << method;
}

TEST(Ratio, OfTooFewSamplesHasNoInterval) {
  const Ratio ratio = ratio_of_medians({{1.0}}, {{2.0, 2.0}});
  EXPECT_DOUBLE_EQ(ratio.value, 2.0);
  EXPECT_TRUE(ratio.method.empty());
}

TEST(Ratio, IsAsWideAsTheDigitsOfItsSamplesAllowHoweverManyThereAre) {
  const regression::LogRounding rounding = regression::log_rounding_of_ratio({1, 0.5}, {2, 0.5});
  for (const Repeats& a : {Repeats(1, {1, 1, 1, 1, 1}), Repeats(7, {1}), Repeats(40, {1})}) {
    Repeats b = a;
    for (auto& samples : b) {
      for (double& sample : samples) sample = 2;
    }
    const Ratio ratio = ratio_of_medians(a, b, 0.02, rounding);
    EXPECT_DOUBLE_EQ(ratio.value, 2);
    EXPECT_NEAR(ratio.low, 1, 1e-12);   // 1.5 / 1.5
    EXPECT_NEAR(ratio.high, 5, 1e-12);  // 2.5 / 0.5
    EXPECT_GT(ratio.p_larger, 0.5);
  }
}

TEST(Ratio, IsWiderWhenLaunchesDifferMoreThanTheirSamples) {
  Repeats steady = noisy(3, 20, 1.0, 1);
  Repeats jumpy;
  for (const double centre : {0.9, 1.0, 1.1}) jumpy.push_back(noisy(1, 20, centre, 2).front());
  const Ratio calm = ratio_of_medians(steady, noisy(3, 20, 1.0, 9));
  const Ratio wild = ratio_of_medians(steady, jumpy);
  EXPECT_GT(std::log(wild.high / wild.low), 3 * std::log(calm.high / calm.low));
}

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
      "A and B tie for the fastest. B takes 1.10 × as long as A on average (95 % interval "
      "0.825 to 1.47 ×) over the 2 measurements that all 3 columns have; B is faster in none.");
}

TEST(Ranking, DecidesByTheIntervalOfTheRatio) {
  SideBySide all = times_of({{1, 1.017}}, 0.01);
  ASSERT_GT(*all.rows[0].times[0]->high, *all.rows[0].times[1]->low) << "the intervals overlap";
  EXPECT_TRUE(knows_fastest(ranking_of(all)));
  EXPECT_TRUE(ranking_verdict(ranking_of(all)).starts_with("A is fastest: 1.02 × as fast as B"))
      << ranking_verdict(ranking_of(all));
  all.rows[0].times[1]->launches = {{1.02e-3, 1.02e-3}, {1.02e-3, 1.03e-3}};
  EXPECT_FALSE(knows_fastest(ranking_of(all))) << "four samples have no interval";
}

TEST(Ranking, IsOfTrainingsAloneWhereThereAreAny) {
  SideBySide all = times_of({{1, 2}, {9, 1}, {9, 1}});
  all.rows[0].question = "e2e network=alexnet batch=8";
  const Ranking ranking = ranking_of(all);
  EXPECT_EQ(ranking.rows, 1U);
  EXPECT_EQ(ranking.ranked.front().column, "A");
  EXPECT_TRUE(contains(ranking_verdict(ranking), "in the 1 training that both have."));
}

TEST(Ranking, SaysThatOneLaunchDoesNotShowHowLaunchesDiffer) {
  SideBySide all = times_of({{1, 2}});
  EXPECT_FALSE(contains(ranking_verdict(ranking_of(all)), "launch"));
  for (auto& time : all.rows[0].times) time->launches = {{1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3}};
  EXPECT_TRUE(contains(ranking_verdict(ranking_of(all)), "launches may differ by more"));
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
  all.predicted = {false, true};
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
