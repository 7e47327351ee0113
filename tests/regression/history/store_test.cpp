#include "regression/history/store.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/error.hpp"
#include "histories.hpp"

namespace dlscale::regression::history {
namespace {

namespace fs = std::filesystem;
using samples::all_series;
using samples::kernel;
using samples::run_of;
using samples::TemporaryFolder;

class StoreInAFolder : public testing::Test {
 protected:
  [[nodiscard]] Store open() const { return samples::folder_store(folder_.path() / "store"); }
  TemporaryFolder folder_;
};

TEST_F(StoreInAFolder, KeepsWhatIsAdded) {
  Store store = open();
  const std::vector runs{run_of({kernel("a"), kernel("b")}, 1, 1.0), run_of({kernel("a")}, 2, 2.0)};
  const AddReport added = store.add(runs);
  EXPECT_EQ(added.runs, 2U);
  EXPECT_EQ(added.points, 3U);
  EXPECT_EQ(added.new_series, 2U);
  Store again = open();
  const std::vector<Series> series = all_series(again);
  ASSERT_EQ(series.size(), 2U);
  EXPECT_EQ(series[0].key, kernel("a"));
  ASSERT_EQ(series[0].points.size(), 2U);
  EXPECT_EQ(series[0].points[1].summary.median, 2.0);
  EXPECT_EQ(series[0].points[1].commit, samples::commit_name(2));
  ASSERT_EQ(again.runs().size(), 2U);
  EXPECT_EQ(samples::read_text(again.file_of(again.runs()[0])), runs[0].content);
}

TEST(FolderStore, TakesItsFormatHoweverTheJsonIsWritten) {
  const TemporaryFolder folder;
  Store store = samples::folder_store(folder.path());
  const std::vector runs{run_of({kernel()}, 1, 1.0)};
  store.add(runs);
  for (const char* format : {R"({"schema": "dlscale.history", "version": 1})",
                             "{\n  \"version\": 1,\n  \"schema\": \"dlscale.history\"\n}\n"}) {
    samples::write_text(folder / "format.json", format);
    EXPECT_EQ(store.runs().size(), 1U) << format;
    EXPECT_EQ(store.add(runs).there_already.size(), 1U) << format;
  }
}

TEST_F(StoreInAFolder, AddingTwiceIsAddingOnce) {
  Store store = open();
  const std::vector runs{run_of({kernel()}, 1, 1.0)};
  store.add(runs);
  const AddReport second = store.add(runs);
  EXPECT_EQ(second.runs, 0U);
  EXPECT_EQ(second.there_already, std::vector<std::string>{runs[0].file});
  EXPECT_EQ(all_series(store)[0].points.size(), 1U);
}

TEST_F(StoreInAFolder, KeepsAFileThatItStillHas) {
  Store store = open();
  const std::vector runs{run_of({kernel()}, 1, 1.0), run_of({kernel()}, 1, 1.0)};
  EXPECT_EQ(store.add(runs).restored_files, 0U);
  EXPECT_EQ(store.add(runs).restored_files, 0U);
}

TEST_F(StoreInAFolder, RefusesOneMeasurementAsTwoCommits) {
  Store store = open();
  std::vector runs{run_of({kernel()}, 1, 1.0)};
  store.add(runs);
  runs[0].commit = "another";
  EXPECT_THROW(store.add(runs), ConfigError);
}

/// A deterministic benchmark prints the same text for each commit.
TEST_F(StoreInAFolder, CountsATextWithoutATimeOnceForEachCommit) {
  Store store = open();
  std::vector runs{run_of({kernel()}, 1, 1.0)};
  runs[0].is_dated = false;
  const std::string first = runs[0].commit;
  store.add(runs);
  EXPECT_TRUE(notes_on_equal_files(store.runs(), runs).empty());
  for (const char* commit : {"b1c0ffee", "b2c0ffee"}) {
    runs[0].commit = runs[0].points[0].point.commit = commit;
    const std::vector<std::string> notes = notes_on_equal_files(store.runs(), runs);
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_NE(notes[0].find("counts as a measurement of " + runs[0].commit), std::string::npos);
    EXPECT_EQ(store.add(runs).points, 1U);
    const AddReport again = store.add(runs);
    EXPECT_EQ(again.runs, 0U);
    EXPECT_EQ(again.there_already.size(), 1U);
    EXPECT_TRUE(notes_on_equal_files(store.runs(), runs).empty());
  }
  EXPECT_EQ(all_series(store)[0].points.size(), 3U);
  ASSERT_EQ(store.runs().size(), 3U);
  for (const RunRecord& run : store.runs()) {
    EXPECT_EQ(samples::read_text(store.file_of(run)), runs[0].content) << run.commit;
  }
  EXPECT_EQ(store.runs()[0].commit, first);
}

TEST_F(StoreInAFolder, AddsAllOrNothing) {
  Store store = open();
  store.add(std::vector{run_of({kernel()}, 1, 1.0)});
  std::vector runs{run_of({kernel()}, 2, 1.0), run_of({kernel()}, 1, 1.0)};
  runs[1].commit = "another";
  EXPECT_THROW(store.add(runs), ConfigError);
  EXPECT_EQ(all_series(store)[0].points.size(), 1U);
}

TEST_F(StoreInAFolder, KeepsAnnotationsInTheirOrder) {
  Store store = open();
  EXPECT_THROW((void)store.annotations(), ConfigError);
  store.add(std::vector{run_of({kernel()}, 1, 1.0)});
  store.annotate([] { return Annotation{5, "c1", AlertState::acknowledged, {"x"}, "looked at"}; });
  store.annotate([] { return Annotation{6, "c1", AlertState::fixed, {"x", "y"}, ""}; });
  const std::vector<Annotation> all = open().annotations();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].note, "looked at");
  EXPECT_EQ(all[1].state, AlertState::fixed);
  EXPECT_EQ(all[1].series, (std::vector<std::string>{"x", "y"}));
}

TEST_F(StoreInAFolder, TakesWhatSeveralWritersAddAtOnce) {
  constexpr int writers = 3;
  constexpr int each = 4;
  std::vector<std::jthread> threads;
  for (int writer = 0; writer < writers; ++writer) {
    threads.emplace_back([this, writer] {
      Store store = open();
      for (int i = 0; i < each; ++i) {
        store.add(std::vector{run_of({kernel()}, writer * each + i, 1.0)});
      }
    });
  }
  threads.clear();
  Store store = open();
  EXPECT_EQ(store.runs().size(), static_cast<std::size_t>(writers * each));
  EXPECT_EQ(all_series(store)[0].points.size(), static_cast<std::size_t>(writers * each));
}

TEST(FolderStore, DropsALineThatWasCutShortAndGoesOnAfterIt) {
  const TemporaryFolder folder;
  Store store = samples::folder_store(folder.path());
  store.add(std::vector{run_of({kernel()}, 1, 1.0)});
  const fs::path series = folder / ("series/" + kernel().file_stem() + ".jsonl");
  const std::string whole = samples::read_text(series);
  for (const std::string_view torn : {"{\"time\":\"20", "{", "garbage"}) {
    samples::write_text(series, whole + std::string(torn));
    EXPECT_EQ(all_series(store)[0].points.size(), 1U);
  }
  store.add(std::vector{run_of({kernel()}, 2, 2.0)});
  EXPECT_TRUE(samples::read_text(series).starts_with(whole));
  EXPECT_EQ(all_series(store)[0].points.size(), 2U);
}

TEST(FolderStore, LeavesOutARunThatWasNotAddedWholeUntilItIs) {
  const TemporaryFolder folder;
  Store store = samples::folder_store(folder.path());
  store.add(std::vector{run_of({kernel()}, 1, 1.0)});
  const std::string records = samples::read_text(folder / "runs.jsonl");
  const std::vector second{run_of({kernel()}, 2, 2.0)};
  store.add(second);
  samples::write_text(folder / "runs.jsonl", records);  // as if killed before the last line
  EXPECT_EQ(all_series(store)[0].points.size(), 1U);
  EXPECT_EQ(all_series(store)[0].incomplete, 1U);
  store.add(second);
  EXPECT_EQ(all_series(store)[0].points.size(), 2U);
  EXPECT_EQ(all_series(store)[0].incomplete, 0U);
}

/// An importer or the options name other facts, such as a collective: the points would be of new
/// series.
TEST(FolderStore, RefusesAKnownFileUnderOtherKeys) {
  const TemporaryFolder folder;
  Store store = samples::folder_store(folder.path());
  store.add(std::vector{run_of({kernel("a"), kernel("b")}, 1, 1.0)});
  for (const bool is_dated : {true, false}) {
    std::vector other{run_of({kernel("a"), kernel("b")}, 1, 1.0)};
    other[0].is_dated = is_dated;
    other[0].points[1].key.axes["layer"] = "c";
    try {
      store.add(other);
      FAIL();
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find("with other facts (layer: b → c)"),
                std::string::npos)
          << error.what();
    }
  }
  EXPECT_EQ(all_series(store).size(), 2U);
}

TEST(FolderStore, TakesAgainTheSeriesThatAKnownRunHasLost) {
  const TemporaryFolder folder;
  Store store = samples::folder_store(folder.path());
  const std::vector runs{run_of({kernel("a"), kernel("b")}, 1, 1.0)};
  store.add(runs);
  fs::remove(folder / ("series/" + kernel("b").file_stem() + ".jsonl"));
  EXPECT_EQ(store.add(runs).restored, 1U);
  EXPECT_EQ(all_series(store).size(), 2U);
}

/// A writer was killed, and the file is added anew as the commit that was really measured.
TEST(FolderStore, NeverCountsWhatAKilledWriterLeftOfAnotherCommit) {
  const TemporaryFolder folder;
  Store store = samples::folder_store(folder.path());
  store.add(std::vector{run_of({kernel()}, 1, 1.0)});
  const std::string records = samples::read_text(folder / "runs.jsonl");
  std::vector run{run_of({kernel()}, 2, 2.0)};
  for (const char* commit : {"wrong", "also wrong", "right"}) {
    run[0].commit = run[0].points[0].point.commit = commit;
    samples::write_text(folder / "runs.jsonl", records);
    store.add(run);
  }
  const std::vector<Series> series = all_series(store);
  ASSERT_EQ(series[0].points.size(), 2U);
  EXPECT_EQ(series[0].points[1].commit, "right");
  EXPECT_EQ(series[0].incomplete, 2U);
  EXPECT_EQ(store.add(run).there_already.size(), 1U);
  EXPECT_EQ(all_series(store)[0].points.size(), 2U);
}

/// An editor may leave out the last line break.
TEST(FolderStore, CountsAWholeLastLineWithoutALineBreak) {
  const TemporaryFolder folder;
  Store store = samples::folder_store(folder.path());
  store.add(std::vector{run_of({kernel()}, 1, 1.0)});
  for (int commit = 2; commit <= 3; ++commit) {
    for (const std::string& file :
         {"series/" + kernel().file_stem() + ".jsonl", std::string("runs.jsonl")}) {
      std::string text = samples::read_text(folder / file);
      text.pop_back();
      samples::write_text(folder / file, text);
    }
    EXPECT_EQ(all_series(store)[0].points.size(), static_cast<std::size_t>(commit - 1));
    store.add(std::vector{run_of({kernel()}, commit, 2.0)});
    EXPECT_EQ(all_series(store)[0].points.size(), static_cast<std::size_t>(commit));
  }
}

TEST(FolderStore, NamesFileAndLineOfDamage) {
  const TemporaryFolder folder;
  Store store = samples::folder_store(folder.path());
  store.add(std::vector{run_of({kernel()}, 1, 1.0)});
  const std::string file = "series/" + kernel().file_stem() + ".jsonl";
  samples::write_text(folder / file, samples::read_text(folder / file) + "<<<<<<< ours\n");
  try {
    (void)all_series(store);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find(file + ":3"), std::string::npos) << error.what();
  }
}

/// What reading a history says whose only point has another median.
std::string problem_of_median(SeriesKey key, std::string_view median) {
  const TemporaryFolder folder;
  Store store = samples::folder_store(folder.path());
  store.add(std::vector{run_of({key}, 1, 2.0)});
  const fs::path file = folder / ("series/" + key.file_stem() + ".jsonl");
  std::string text = samples::read_text(file);
  for (const std::string_view field : {"median", "low", "min"}) {
    const std::string whole = fmt::format("\"{}\":2", field);
    text.replace(text.find(whole), whole.size(), fmt::format("\"{}\":{}", field, median));
  }
  samples::write_text(file, text);
  try {
    (void)all_series(store);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(FolderStore, RefusesValuesThatNoFileCanHaveAdded) {
  for (const std::string_view median : {"0", "-5"}) {
    const std::string problem = problem_of_median(kernel(), median);
    EXPECT_NE(problem.find(".jsonl:2"), std::string::npos) << problem;
    EXPECT_NE(problem.find(fmt::format("\"median\" is {}", median)), std::string::npos) << problem;
  }
  SeriesKey ratio = kernel();
  ratio.metric = "predicted_over_measured";
  ratio.unit = "1";
  ratio.direction = Direction::steady;
  EXPECT_NE(problem_of_median(ratio, "0"), "");
  // A rate may be rounded to 0, and what remains of an iteration be less.
  SeriesKey rate = kernel();
  rate.metric = "busbw";
  rate.unit = "B/s";
  rate.direction = Direction::larger_is_better;
  EXPECT_EQ(problem_of_median(rate, "0"), "");
  EXPECT_NE(problem_of_median(rate, "-5"), "");
  SeriesKey rest = kernel();
  rest.suite = "e2e";
  rest.metric = "t_other";
  EXPECT_EQ(problem_of_median(rest, "-5"), "");
}

/// What is said of runs.jsonl where a part of it was replaced.
std::string problem_of_runs(const std::string& part, const std::string& by) {
  const TemporaryFolder folder;
  Store store = samples::folder_store(folder.path());
  store.add(std::vector{run_of({kernel()}, 1, 1.0)});
  std::string text = samples::read_text(folder / "runs.jsonl");
  text.replace(text.find(part), part.size(), by);
  samples::write_text(folder / "runs.jsonl", text);
  try {
    (void)store.runs();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(FolderStore, SaysWhatIsWrongInOneSentence) {
  const std::string of_time = problem_of_runs("2023-", "x");
  EXPECT_NE(of_time.find("or 2026-01-31. Take"), std::string::npos) << of_time;
  const std::string of_points = problem_of_runs("\"points\":", "\"points\":-");
  EXPECT_NE(of_points.find("runs.jsonl:1"), std::string::npos) << of_points;
  EXPECT_NE(of_points.find("\"points\" is -1, which is not a count. Take"), std::string::npos)
      << of_points;
}

TEST(FolderStore, TakesMergedLinesTwiceAndInAnyOrder) {
  const TemporaryFolder folder;
  Store store = samples::folder_store(folder.path());
  store.add(std::vector{run_of({kernel()}, 1, 1.0), run_of({kernel()}, 2, 2.0)});
  for (const std::string& file :
       {"series/" + kernel().file_stem() + ".jsonl", std::string("runs.jsonl")}) {
    const std::string text = samples::read_text(folder / file);
    samples::write_text(folder / file, text + text);
  }
  EXPECT_EQ(all_series(store)[0].points.size(), 2U);
  EXPECT_EQ(store.runs().size(), 2U);
}

TEST(FolderStore, RefusesAFolderOfSomethingElse) {
  const TemporaryFolder folder;
  samples::write_text(folder / "thesis.tex", "years of work");
  Store store = samples::folder_store(folder.path());
  EXPECT_THROW(store.add(std::vector{run_of({kernel()}, 1, 1.0)}), ConfigError);
  EXPECT_EQ(samples::read_text(folder / "thesis.tex"), "years of work");
  EXPECT_THROW((void)samples::folder_store(folder / "thesis.tex"), ConfigError);
}

TEST(FolderStore, BeginsInAnEmptyCheckoutOfGit) {
  const TemporaryFolder folder;
  fs::create_directory(folder / ".git");
  samples::write_text(folder / ".git/HEAD", "ref: refs/heads/history\n");
  Store store = samples::folder_store(folder.path());
  EXPECT_EQ(store.add(std::vector{run_of({kernel()}, 1, 1.0)}).runs, 1U);
  EXPECT_EQ(all_series(store).size(), 1U);
}

/// Where a store keeps the file of a run.
std::string kept_file(const RunRecord& record) {
  return "files/" + record.sha256.substr(0, 2) + "/" + record.sha256;
}

TEST(FolderStore, NoticesAFileThatWasChangedOrLostAndTakesItAgain) {
  const TemporaryFolder folder;
  Store store = samples::folder_store(folder.path());
  const std::vector runs{run_of({kernel()}, 1, 1.0)};
  store.add(runs);
  const RunRecord record = store.runs()[0];
  const fs::path kept = folder / kept_file(record);
  for (const std::string_view damage : {"forged", "", "gone"}) {
    samples::write_text(kept, damage);
    if (damage == "gone") fs::remove(kept);
    EXPECT_THROW((void)store.file_of(record), ConfigError) << damage;
    const AddReport again = store.add(runs);
    EXPECT_EQ(again.restored_files, 1U) << damage;
    EXPECT_EQ(again.points + again.restored, 0U) << damage;
    EXPECT_EQ(samples::read_text(store.file_of(record)), runs[0].content) << damage;
  }
  EXPECT_EQ(all_series(store)[0].points.size(), 1U);
}

TEST(FolderStore, KeepsTheFileOfARunWhoseWriterWasKilledInTheMiddleOfIt) {
  const TemporaryFolder folder;
  Store store = samples::folder_store(folder.path());
  store.add(std::vector{run_of({kernel()}, 1, 1.0)});
  const std::string records = samples::read_text(folder / "runs.jsonl");
  const std::vector second{run_of({kernel()}, 2, 2.0)};
  store.add(second);
  const RunRecord record = store.runs()[1];
  samples::write_text(folder / "runs.jsonl", records);
  samples::write_text(folder / kept_file(record), "");
  store.add(second);
  EXPECT_EQ(samples::read_text(store.file_of(record)), second[0].content);
}

/// What `body` does in a process of its own, whose exit code it returns.
int in_a_process(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());  // not exit(): it would end GoogleTest of the parent again
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(FolderStore, IsAsItWasAfterAFullDisk) {
  const TemporaryFolder folder;
  Store store = samples::folder_store(folder.path());
  store.add(std::vector{run_of({kernel()}, 1, 1.0)});
  const fs::path series = folder / ("series/" + kernel().file_stem() + ".jsonl");
  const std::string before = samples::read_text(series);
  const auto most = static_cast<rlim_t>(before.size() + 20);
  // Files that grow beyond the limit are refused, as they are where there is no space.
  const int code = in_a_process([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{most, most};
    setrlimit(RLIMIT_FSIZE, &limit);
    try {
      store.add(std::vector{run_of({kernel("other"), kernel()}, 2, 2.0)});
    } catch (const ConfigError& error) {
      return std::string(error.what()).find("cannot be written") != std::string::npos ? 0 : 1;
    }
    return 2;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(samples::read_text(series), before);
  EXPECT_EQ(all_series(store).size(), 1U);
  store.add(std::vector{run_of({kernel("other"), kernel()}, 2, 2.0)});
  EXPECT_EQ(all_series(store).size(), 2U);
}

}  // namespace
}  // namespace dlscale::regression::history
