#include "report/sections/history_section.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/numbers.hpp"
#include "regression/import/result_run.hpp"
#include "report/history/history_verdicts.hpp"
#include "report/history/history_view.hpp"
#include "report/sections/report.hpp"
#include "tests/regression/history/histories.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

namespace history = regression::history;

/// A result file of one kernel, as a commit had it.
ResultFile result_of_commit(int number, double seconds, const std::string& library = "2.6.0") {
  // Six samples that no other commit has to the last digit.
  std::vector<double> times;
  for (int i = 0; i < 6; ++i)
    times.push_back(seconds * (1 + 1e-3 * ((number * 7 + i * 3) % 5 - 2)));
  ResultFile file =
      samples::file("gemm", {samples::timed("gemm", {{"kernel", "gemm m8"}}, std::move(times))});
  file.header.environment.commit = history::samples::commit_name(number);
  file.header.environment.libraries["onednn"] = library;
  return file;
}

class HistoryPage : public testing::Test {
 protected:
  HistoryPage() : store_(history::samples::folder_store(folder_.path())) {}

  void add(int first, int last, double seconds) {
    std::vector<history::ImportedRun> runs;
    for (int number = first; number <= last; ++number) {
      runs.push_back(run_of(number, result_of_commit(number, seconds)));
    }
    store_.add(runs);
  }
  static history::ImportedRun run_of(int number, const ResultFile& file) {
    history::ImportedRun run;
    run.file = run.content = history::samples::commit_name(number) + "\n";
    history::add_points(run, file);
    run.commit = history::samples::commit_name(number);
    run.time = history::samples::commit_time(number);
    for (history::KeyedPoint& each : run.points) {
      each.point.commit = run.commit;
      each.point.time = run.time;
    }
    history::number_parts(run);
    return run;
  }
  [[nodiscard]] HistoryView view(const std::vector<ResultFile>& results) {
    const HistoryCommands commands{"add", "check",
                                   [](const std::string& commit) { return "bisect " + commit; },
                                   [](const std::string& commit, const std::string& state) {
                                     return "annotate " + commit + " " + state;
                                   },
                                   "doctor"};
    return look_at_history(
        store_, commands, [](const history::SeriesKey&) { return true; }, {},
        reported_values(results));
  }

  history::samples::TemporaryFolder folder_;
  history::Store store_;
};

/// All text of a section.
std::string section_text(const Section& section) {
  Page page;
  page.sections = {section};
  return html(page);
}

TEST_F(HistoryPage, HasTheVerdictTheBisectionAndLevelsOfAChange) {
  add(1, 20, 1e-3);
  add(21, 40, 1.2e-3);
  const HistoryView history = view({});
  const Page page = history_page(history);
  EXPECT_TRUE(page.verdict.starts_with(
      "Yes: the series below regressed by +20.0 % (95 % interval +"))
      << page.verdict;
  EXPECT_TRUE(page.verdict.ends_with(" at commit c0021.")) << page.verdict;
  EXPECT_EQ(page.tiles.at(0).value, "+20.0 %");
  EXPECT_TRUE(page.tiles.at(0).detail.starts_with("95 % interval +")) << page.tiles.at(0).detail;
  EXPECT_TRUE(page.tiles.at(1).detail.ends_with(", after c0020")) << page.tiles.at(1).detail;
  EXPECT_EQ(page.tone, Tone::bad);
  ASSERT_EQ(page.next.size(), 2U);
  EXPECT_EQ(page.next.at(0).command, "bisect c0021");
  EXPECT_EQ(page.next.at(1).command, "annotate c0021 acknowledged");
  const std::string text = html(page);
  EXPECT_TRUE(contains(text, ": 1 regression in 1 series over 40 commits: +20.0 %"));
  EXPECT_TRUE(contains(text, "Which commit it was: bisect c0021"));
  EXPECT_TRUE(contains(text, "Levels of the strips"));
  EXPECT_TRUE(contains(text, "Marks of the strips"));
  const auto figure = history_figure(history);
  ASSERT_TRUE(figure);
  EXPECT_EQ(figure->file, "history.svg");
  EXPECT_TRUE(contains(figure->svg, "class=\"c1\"/>")) << "a full triangle";
  EXPECT_TRUE(contains(figure->svg, "regressed +20.0 % at c0021 (1.000 to 1.200 ms)<"))
      << figure->svg;
  EXPECT_TRUE(contains(figure->svg, ">ms, lower is better<")) << figure->svg;
}

TEST_F(HistoryPage, TellsAnImprovementFromARegressionByWordAndShape) {
  add(1, 20, 1.2e-3);
  add(21, 40, 1e-3);
  const HistoryView history = view({});
  const Page page = history_page(history);
  EXPECT_TRUE(
      page.verdict.starts_with("No new regression (and 1 improvement) in 1 series over 40 commits"))
      << page.verdict;
  EXPECT_EQ(page.tiles.at(0).detail, "0 of 1 series; 1 improvement");
  EXPECT_EQ(page.next.at(0).command, "annotate c0021 expected");
  const auto figure = history_figure(history);
  ASSERT_TRUE(figure);
  EXPECT_TRUE(contains(figure->svg, "improved -16.7 % at c0021")) << figure->svg;
  EXPECT_TRUE(contains(figure->svg, "class=\"hollow s0\"/>")) << "an empty triangle";
  EXPECT_EQ(figure->svg.find("class=\"c1\"/>"), figure->svg.rfind("class=\"c1\"/>"))
      << "a full one in the legend alone";
}

TEST_F(HistoryPage, OfAQuietHistorySaysWhichChangeItWouldHaveShown) {
  add(1, 20, 1e-3);
  const HistoryView history = view({});
  const regression::NewPoint& judged = history.report.series.at(0).judged;
  const Page page = history_page(history);
  EXPECT_EQ(page.verdict,
            fmt::format("No new regression in 1 series over 20 commits; a single commit shows "
                        "changes of {} or more.",
                        percent(std::expm1(judged.seen))));
  EXPECT_GE(std::exp(judged.seen), judged.highest / judged.level);
  EXPECT_EQ(page.tone, Tone::good);
  EXPECT_EQ(page.data->word, "Good");
  EXPECT_EQ(page.data->reasons,
            fmt::format("20 points of 1 series; a single commit shows changes of {} or more.",
                        percent(std::expm1(judged.seen))));
  EXPECT_EQ(page.tiles.back().name, "Smallest change it shows");
  ASSERT_EQ(page.next.size(), 1U);
  EXPECT_EQ(page.next.at(0).command, "add RESULTS && check");
}

TEST_F(HistoryPage, OfNoisySeriesSaysWhichChangesMayHide) {
  for (int commit = 1; commit <= 24; ++commit) {
    add(commit, commit, 1e-3 * (1 + 0.03 * (commit * 7 % 10)));
  }
  const Page page = history_page(view({}));
  EXPECT_EQ(page.data->word, "Usable") << page.verdict;
  EXPECT_TRUE(contains(page.data->reasons, "noise hides single commits that change by less than"))
      << page.data->reasons;
}

TEST_F(HistoryPage, SaysThatTheLatestCommitsAreWorseThoughNoChangeYet) {
  std::vector<history::ImportedRun> runs;
  for (int commit = 1; commit <= 27; ++commit) {
    const double worse = commit < 25 ? 0.01 * (commit * 7 % 10) : 0.12;
    runs.push_back(run_of(commit, result_of_commit(commit, 1e-3 * (1 + worse))));
  }
  store_.add(runs);
  const HistoryView history = view({});
  EXPECT_EQ(history.strips.at(0).latest_worse, 3U) << "those beyond the noise";
  const Page page = history_page(history);
  EXPECT_TRUE(page.verdict.starts_with("No new regression")) << page.verdict;
  EXPECT_TRUE(page.verdict.ends_with(
      " The last commits of 1 series are worse, but not yet a change."))
      << page.verdict;
  EXPECT_EQ(page.next.front().command, "doctor");
  EXPECT_TRUE(contains(html(page), ">last 3 worse: no change yet<"));
  add(28, 28, 1e-3);
  EXPECT_EQ(view({}).strips.at(0).latest_worse, 0U);
}

TEST_F(HistoryPage, TitlesSeriesByTheAxesThatTellThemApart) {
  std::vector<history::ImportedRun> runs;
  for (int commit = 1; commit <= 12; ++commit) {
    ResultFile file = result_of_commit(commit, 1e-3);
    file.measurements.push_back(file.measurements[0]);
    file.measurements[0].axes = {{"kernel", "gemm m8 n8"}, {"layer", "a"}, {"dtype", "f32"}};
    file.measurements[1].axes = {{"kernel", "gemm m9 n9"}, {"layer", "b"}, {"dtype", "f32"}};
    runs.push_back(run_of(commit, file));
  }
  store_.add(runs);
  const auto figure = history_figure(view({}));
  ASSERT_TRUE(figure);
  EXPECT_TRUE(contains(figure->svg, "</title>1. layer=a<")) << figure->svg;
  EXPECT_TRUE(contains(figure->svg, "</title>2. layer=b<"));
  EXPECT_TRUE(contains(figure->data.rows.at(0).at(0).text, "1. gemm dtype=f32 kernel=gemm m8 n8"));
}

TEST_F(HistoryPage, TakesTheSmallestChangeFromSeriesThatHaveBounds) {
  add(1, 20, 1e-3);
  const auto alone = smallest_change(view({}).report);
  ResultFile young = result_of_commit(21, 5e8);
  young.measurements.resize(1);
  young.measurements[0].axes["layer"] = "new";
  const std::vector<history::ImportedRun> runs{run_of(21, young)};
  store_.add(runs);
  const HistoryView both = view({});
  ASSERT_EQ(both.report.series.size(), 2U);
  const auto seen = smallest_change(both.report);
  ASSERT_TRUE(alone && seen);
  EXPECT_EQ(seen->most, alone->most);
  EXPECT_EQ(seen->median, alone->median);
}

TEST_F(HistoryPage, SaysThatNothingCanBeJudgedOfTooFewCommits) {
  add(1, 3, 1e-3);
  const Page page = history_page(view({}));
  EXPECT_EQ(page.verdict, "Not judged: the only series has too few commits.");
  EXPECT_EQ(page.tone, Tone::caution);
  for (const Tile& tile : page.tiles) EXPECT_EQ(tile.tone, Tone::plain) << tile.name;
}

TEST_F(HistoryPage, HoldsResultsAgainstTheLevelOfTheirSeries) {
  add(1, 20, 1e-3);
  const HistoryView history = view({result_of_commit(99, 1.5e-3)});
  ASSERT_EQ(history.reported.size(), 1U);
  ASSERT_TRUE(history.reported[0].kept);
  const Section section = history_section(history);
  const auto table = std::ranges::find_if(section.blocks, [](const Block& block) {
    return std::holds_alternative<Table>(block) &&
           std::get<Table>(block).title.starts_with("What is reported here");
  });
  ASSERT_NE(table, section.blocks.end());
  const Table& beside = std::get<Table>(*table);
  ASSERT_EQ(beside.rows.size(), 1U);
  EXPECT_TRUE(cell(beside, 0, "against level").starts_with("+50"));
  EXPECT_EQ(cell(beside, 0, "remark"), "beyond");
  const auto figure = history_figure(history);
  ASSERT_TRUE(figure);
  EXPECT_TRUE(contains(figure->svg, "reported here, not in the history"));
}

TEST_F(HistoryPage, DoesNotDrawTwiceWhatTheHistoryHas) {
  add(1, 20, 1e-3);
  const auto figure = history_figure(view({result_of_commit(20, 1e-3)}));
  ASSERT_TRUE(figure);
  EXPECT_FALSE(contains(figure->svg, "reported here"));
}

TEST_F(HistoryPage, SaysInWhichFactAnEnvironmentWithoutAHistoryDiffers) {
  add(1, 20, 1e-3);
  const HistoryView history = view({result_of_commit(21, 1e-3, "3.0.0")});
  ASSERT_EQ(history.reported.size(), 1U);
  EXPECT_FALSE(history.reported[0].kept);
  EXPECT_TRUE(contains(section_text(history_section(history)), "onednn: 2.6.0 → 3.0.0"));
}

TEST_F(HistoryPage, OfResultsThatItNeverSawSaysSoAndIsNoError) {
  add(1, 20, 1e-3);
  ResultFile other = result_of_commit(21, 1e-3);
  other.measurements[0].axes["kernel"] = "gemm m9";
  const HistoryView history = view({other});
  EXPECT_TRUE(history.strips.empty());
  EXPECT_TRUE(contains(section_text(history_section(history)), "Nothing of what is reported here"));
  EXPECT_FALSE(history_figure(history));
  EXPECT_THROW(static_cast<void>(look_at_history(
                   store_, {}, [](const history::SeriesKey&) { return false; }, {}, {})),
               Error);
}

TEST_F(HistoryPage, StandsBeforeTheQualityOfItsNumbers) {
  add(1, 20, 1e-3);
  ReportInput input;
  input.trained = false;
  input.results = {result_of_commit(20, 1e-3)};
  input.history = std::make_shared<HistoryView>(view(input.results));
  const std::vector<Section> sections = report_page(input).sections;
  ASSERT_GE(sections.size(), 2U);
  EXPECT_EQ(sections[0].id, "history");
  EXPECT_EQ(sections[1].id, "quality");
}

}  // namespace
}  // namespace dlscale::report
