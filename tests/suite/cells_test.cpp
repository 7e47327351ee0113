#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/results/measurement.hpp"
#include "core/system/output_file.hpp"
#include "core/text/progress_line.hpp"
#include "suite/cells/canary.hpp"
#include "suite/cells/plan.hpp"
#include "suite/cells/row.hpp"
#include "suite/cells/store.hpp"
#include "tests/core/support.hpp"

namespace dlscale::suite {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::vector<SuiteCell> some_cells(int count) {
  std::vector<SuiteCell> cells(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    SuiteCell& cell = cells[static_cast<std::size_t>(i)];
    cell.name = cell.id = "cell-" + std::to_string(i);
    cell.words = cell.placed_words = {"bench", "gemm", "-o", "{cell}/result.jsonl"};
  }
  return cells;
}

std::vector<std::string> ids(const std::vector<SuiteCell>& cells) {
  std::vector<std::string> result;
  for (const SuiteCell& cell : cells) result.push_back(cell.id);
  return result;
}

TEST(CellOrder, IsOneOfAllWithTheSameCells) {
  const auto cells = some_cells(50);
  const auto one = ids(in_random_order(cells, 1));
  EXPECT_EQ(one, ids(in_random_order(cells, 1)));
  EXPECT_NE(one, ids(in_random_order(cells, 2)));
  EXPECT_NE(one, ids(cells));
  EXPECT_EQ(std::multiset<std::string>(one.begin(), one.end()).size(), cells.size());
  EXPECT_THAT(one, ::testing::UnorderedElementsAreArray(ids(cells)));
}

TEST(CellOrder, BringsEveryCellToTheFrontAlike) {
  std::map<std::string, int> firsts;
  constexpr int seeds = 3000;
  for (int seed = 0; seed < seeds; ++seed) {
    ++firsts[in_random_order(some_cells(3), static_cast<std::uint64_t>(seed)).front().id];
  }
  // Five standard deviations of a binomial number around a third.
  for (const auto& [id, count] : firsts) EXPECT_NEAR(count, seeds / 3, 130) << id;
}

class CellFolder : public ::testing::Test {
 protected:
  [[nodiscard]] std::string refusal(const std::string& text) const {
    return test::config_error([&] { check_plan(folder_.path(), text); });
  }
  test::TemporaryFolder folder_;
  PlanHead head_{"suite", "build 1", "local", 1};
};

TEST_F(CellFolder, GoesOnWithItsOwnPlanOnly) {
  const auto cells = some_cells(3);
  const std::string text = plan_text(head_, cells);
  EXPECT_NO_THROW(check_plan(folder_.path(), text)) << "there is none";
  EXPECT_EQ(planned_seed(folder_.path()), std::nullopt);
  write_plan(folder_.path(), text);
  EXPECT_NO_THROW(check_plan(folder_.path(), text));
  EXPECT_EQ(planned_seed(folder_.path()), 1U);
  const auto with = [&](auto change) {
    PlanHead head = head_;
    change(head);
    return refusal(plan_text(head, cells));
  };
  EXPECT_THAT(with([](PlanHead& it) { it.suite = "other"; }), HasSubstr("of the suite suite"));
  EXPECT_THAT(with([](PlanHead& it) { it.build = "build 2"; }), HasSubstr("another build"));
  EXPECT_THAT(with([](PlanHead& it) { it.system = "slurm"; }), HasSubstr("of local"));
  EXPECT_THAT(with([](PlanHead& it) { it.seed = 2; }), HasSubstr("--seed 1"));
  auto changed = cells;
  changed[1].placed_words.emplace_back("--more");
  EXPECT_THAT(refusal(plan_text(head_, changed)), HasSubstr("\"cell-1\" had another command"));
  changed = cells;
  changed[2].shape.nodes = 2;
  EXPECT_THAT(refusal(plan_text(head_, changed)), HasSubstr("\"cell-2\" had another command or"));
  EXPECT_THAT(refusal(plan_text(head_, some_cells(4))), HasSubstr("lacked the cell \"cell-3\""));
  EXPECT_THAT(refusal(plan_text(head_, some_cells(2))), HasSubstr("had the cell \"cell-2\""));
}

TEST_F(CellFolder, RefusesAPlanThatIsDamagedOrNone) {
  const std::string text = plan_text(head_, some_cells(3));
  for (std::size_t length = 30; length + 1 < text.size(); length += 7) {
    (void)folder_.write("plan.jsonl", text.substr(0, length));
    EXPECT_THROW(check_plan(folder_.path(), text), ConfigError) << length;
  }
  (void)folder_.write("plan.jsonl", "my own notes\n");
  EXPECT_THAT(refusal(text), HasSubstr("is not the plan of a suite"));
}

CellRow a_row() {
  CellRow row;
  row.cell = "cell-0";
  row.status = CellStatus::timeout;
  row.reason = "it took \"long\"\n and said \xff";
  row.exit_code = 143;
  row.seconds = 1.5;
  row.started = "2026-01-31T12:00:00Z";
  row.command = {"srun", "dlscale"};
  row.shape = {.nodes = 2, .ranks_per_node = 4, .gpus_per_rank = 1, .threads = 8};
  row.job = "17";
  row.nodes = "node[1-2]";
  row.measurements = 5;
  row.unstable = 2;
  row.wrong = 1;
  row.before = {"0.1 0.2", "1", "2000 to 3000 MHz", 3};
  row.after = {"0.1 0.3", "2", "unavailable: x", std::nullopt};
  return row;
}

TEST(CellRows, AreReadAsTheyWereWritten) {
  const CellRow row = a_row();
  const CellRow read = parse_row(to_line(row));
  EXPECT_EQ(read.cell, row.cell);
  EXPECT_EQ(read.status, row.status);
  EXPECT_EQ(read.exit_code, row.exit_code);
  EXPECT_EQ(read.seconds, row.seconds);
  EXPECT_EQ(read.command, row.command);
  EXPECT_EQ(read.shape, row.shape);
  EXPECT_EQ(read.nodes, row.nodes);
  EXPECT_EQ(read.before.throttled, 3);
  EXPECT_EQ(read.after.throttled, std::nullopt);
  EXPECT_EQ(to_line(read), to_line(row));
  const std::string line = to_line(row);
  for (std::size_t length = 0; length + 2 < line.size(); ++length) {
    EXPECT_THROW(parse_row(line.substr(0, length)), ConfigError) << length;
  }
  EXPECT_THROW(parse_row(test::replaced(line, "timeout", "tired")), ConfigError);
}

class JudgedCell : public ::testing::Test {
 protected:
  void measure(Status status, const std::string& reason,
               const std::vector<double>& throttle_reasons = {}) {
    ResultHeader header;
    header.benchmark = "gemm";
    header.environment.date = "2026-01-31T12:00:00Z";
    ResultWriter writer(folder_.path() / ("r" + std::to_string(files_++) + ".jsonl"), header);
    Measurement row;
    row.benchmark = "gemm";
    row.status = status;
    row.reason = reason;
    if (status != Status::wrong) {
      row.series["time"] = make_series("s", {{1.0, 2.0}});
      if (!throttle_reasons.empty()) {
        row.series["throttle_reasons"] = make_series("1", {throttle_reasons});
      }
    }
    writer.write(row);
    writer.finish();
  }
  CellRow judged(const ChildExit& exit) {
    judge(row_, exit, folder_.path());
    return row_;
  }
  test::TemporaryFolder folder_;
  CellRow row_;

 private:
  int files_ = 0;
};

TEST_F(JudgedCell, IsOkWhereAllIs) {
  measure(Status::ok, "");
  EXPECT_EQ(judged({0}).status, CellStatus::ok);
  EXPECT_EQ(row_.measurements, 1);
  EXPECT_EQ(row_.reason, "");
}

TEST_F(JudgedCell, SaysWhatDidNotSettleOrIsWrong) {
  measure(Status::ok, "");
  measure(Status::unstable, "too noisy");
  EXPECT_EQ(judged({0}).status, CellStatus::unstable);
  EXPECT_THAT(row_.reason, HasSubstr("1 of 2 measurements did not settle: too noisy"));
  measure(Status::wrong, "off by one");
  EXPECT_EQ(judged({4}).status, CellStatus::wrong);
  EXPECT_EQ(row_.reason, "off by one");
  EXPECT_FALSE(is_fine(row_.status));
}

TEST_F(JudgedCell, TellsHeatFromALimitOfPower) {
  measure(Status::ok, "", {4.0, 4.0});
  EXPECT_EQ(judged({0}).status, CellStatus::ok) << "a limit of power is how a GPU works";
  measure(Status::ok, "", {0.0, 64.0});
  EXPECT_EQ(judged({0}).status, CellStatus::throttled);
}

TEST_F(JudgedCell, SeesProcessorsThatWereThrottled) {
  row_.before.throttled = 3;
  row_.after.throttled = 3;
  EXPECT_EQ(judged({0}).status, CellStatus::ok);
  row_.after.throttled = 4;
  EXPECT_EQ(judged({0}).status, CellStatus::throttled);
}

TEST_F(JudgedCell, TellsACrashFromARefusal) {
  (void)folder_.write(log_file, "progress\ndlscale: --m is not a size. Write one.\nSee --help\n\n");
  EXPECT_EQ(judged({2}).status, CellStatus::failed);
  EXPECT_THAT(row_.reason, HasSubstr("its last words were: --m is not a size. Write one."));
  EXPECT_EQ(judged({128 + 11}).status, CellStatus::crashed);
  EXPECT_THAT(row_.reason, HasSubstr("was ended by signal 11"));
  EXPECT_EQ(judged({77}).status, CellStatus::crashed);
  EXPECT_EQ(judged({4}).status, CellStatus::crashed) << "a lost rank, since no answer is wrong";
  EXPECT_EQ(judged({1}).status, CellStatus::failed);
  row_.command = {"dlscale", "bench", "gemm"};
  EXPECT_EQ(judged({1}).status, CellStatus::crashed) << "a benchmark passes no verdict";
  EXPECT_EQ(judged({5}).status, CellStatus::nothing_measured);
  EXPECT_EQ(judged({6}).status, CellStatus::unsupported);
  EXPECT_EQ(judged({.code = 143, .timed_out = true}).status, CellStatus::timeout);
}

TEST_F(JudgedCell, TellsOfACrashInWordsAndNotInLinesOfDashes) {
  (void)folder_.write(log_file, "no hosts\n-----------------\n  * * * 12 \n\n");
  EXPECT_EQ(judged({1}).status, CellStatus::failed);
  EXPECT_THAT(row_.reason, HasSubstr("its last words were: no hosts"));
}

TEST_F(JudgedCell, DoesNotSucceedWithResultsThatCannotBeRead) {
  (void)folder_.write("a.jsonl", "{\"torn");
  EXPECT_EQ(judged({0}).status, CellStatus::failed);
}

TEST_F(CellFolder, ACellIsThereWholeOrNotAtAll) {
  const auto cells = some_cells(2);
  CellStore store(folder_.path(), "all");
  store.open();
  const fs::path work = store.begin(cells[0]);
  std::ofstream(work / "result.jsonl") << "half";
  EXPECT_TRUE(store.done().empty());
  std::ofstream(work / "result.jsonl") << "whole";
  CellRow row = a_row();
  store.finish(cells[0], row);
  EXPECT_EQ(store.done(), std::set<std::string>{"cell-0"});
  EXPECT_EQ(test::read_file(folder_.path() / "cells/cell-0/result.jsonl"), "whole");
  EXPECT_FALSE(fs::exists(work));

  // Somebody else was faster.
  std::ofstream(store.begin(cells[0]) / "result.jsonl") << "late";
  row.seconds = 99;
  store.finish(cells[0], row);
  EXPECT_EQ(test::read_file(folder_.path() / "cells/cell-0/result.jsonl"), "whole");
  EXPECT_EQ(store.row(cells[0]).seconds, 1.5);

  store.write_rows(cells);
  EXPECT_THAT(test::read_file(folder_.path() / "cells.jsonl"), HasSubstr("cell-0"));
  store.discard(cells);
  EXPECT_TRUE(store.done().empty());
}

TEST_F(CellFolder, OneAtATimeWorksInAGroup) {
  CellStore first(folder_.path(), "all");
  first.open();
  CellStore second(folder_.path(), "all");
  EXPECT_THAT(test::config_error([&] { second.open(); }), HasSubstr("another dlscale"));
  CellStore other(folder_.path(), "nodes-2");
  EXPECT_NO_THROW(other.open());
}

TEST_F(CellFolder, WhatAnEarlierCallLeftIsRemoved) {
  const auto cells = some_cells(1);
  {
    CellStore killed(folder_.path(), "all");
    killed.open();
    std::ofstream(killed.begin(cells[0]) / "result.jsonl") << "half";
  }
  CellStore next(folder_.path(), "all");
  next.open();
  EXPECT_TRUE(next.done().empty());
  EXPECT_TRUE(fs::is_empty(next.begin(cells[0])));
}

TEST_F(CellFolder, ResultsBesideThePlanAreReadWithoutIt) {
  CellStore store(folder_.path(), "all");
  store.open();
  write_plan(folder_.path(), plan_text(head_, some_cells(1)));
  store.write_rows(some_cells(1));
  std::ofstream(store.begin(some_cells(1)[0]) / "result.jsonl") << "torn";
  EXPECT_TRUE(read_result_tree(folder_.path()).empty());
}

std::vector<CanaryPair> pairs(double first, double second) {
  std::vector<CanaryPair> result;
  for (std::size_t i = 0; i < canary_pairs; ++i) {
    const double noise = 1 + 1e-4 * static_cast<double>(i % 3);
    result.push_back({Seconds(first * noise), Seconds(second * noise)});
  }
  return result;
}

TEST(Canary, AlarmsBeyondItsMarginInBothDirections) {
  EXPECT_FALSE(judge_pairs(pairs(1e-3, 1e-3)).alarm);
  EXPECT_FALSE(judge_pairs(pairs(1e-3, 1.008e-3)).alarm);
  EXPECT_TRUE(judge_pairs(pairs(1e-3, 1.02e-3)).alarm);
  EXPECT_TRUE(judge_pairs(pairs(1.02e-3, 1e-3)).alarm);
  EXPECT_TRUE(judge_drift(pairs(1e-3, 1e-3), pairs(1.05e-3, 1.05e-3)).alarm);
  EXPECT_FALSE(judge_drift(pairs(1e-3, 1e-3), pairs(1e-3, 1e-3)).alarm);
  EXPECT_NEAR(judge_pairs(pairs(1e-3, 1.02e-3)).shift, std::log(1.02), 1e-9);
}

TEST(Canary, IsNotLedAstrayByOneOutlier) {
  auto one = pairs(1e-3, 1e-3);
  one[4].second = Seconds(1);
  EXPECT_FALSE(judge_pairs(one).alarm);
}

TEST(Canary, TimesSomething) {
  for (const CanaryPair& pair : run_canary()) {
    EXPECT_GT(pair.first, Seconds(0));
    EXPECT_GT(pair.second, Seconds(0));
  }
}

TEST_F(CellFolder, KeepsWhatTheCanarySaid) {
  CanaryRecord(folder_.path(), true).finish();
  const std::string line = canary_lines(folder_.path());
  EXPECT_THAT(line, HasSubstr("\"schema\":\"dlscale.canary\""));
  EXPECT_THAT(line, HasSubstr("\"drift\""));
  EXPECT_EQ(std::ranges::count(line, '\n'), 1);
}

TEST(Conditions, CountHeatOfAllProcessors) {
  const test::TemporaryFolder root;
  for (const char* cpu : {"cpu0", "cpu1"}) {
    const fs::path folder = root.path() / "sys/devices/system/cpu" / cpu / "thermal_throttle";
    fs::create_directories(folder);
    std::ofstream(folder / "core_throttle_count") << "2\n";
    std::ofstream(folder / "package_throttle_count") << "1\n";
  }
  EXPECT_EQ(look_at_machine(root.path()).throttled, 6);
  const test::TemporaryFolder empty;
  EXPECT_EQ(look_at_machine(empty.path()).throttled, std::nullopt);
}

TEST(Durable, SaysWhyAFolderTakesNothing) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(write_problem(folder.path()), "");
  EXPECT_TRUE(fs::is_empty(folder.path()));
  EXPECT_EQ(write_problem(folder.path() / "missing"), "No such file or directory");
}

TEST(ProgressText, LeavesTheLastColumnFreeAndNoCharacterInPart) {
  EXPECT_EQ(fitted("abcdefghi", 10), "abcdefghi");
  EXPECT_EQ(fitted("abcdefghij", 10), "abcdefgh…");
  EXPECT_EQ(fitted("äöüäöüäöü", 10), "äöüäöüäöü");
  EXPECT_EQ(fitted("äöüäöüäöüä", 10), "äöüäöüäö…");
  for (const std::size_t columns : {0U, 1U, 2U}) EXPECT_EQ(fitted("ab", columns), "…");
}

TEST(ProgressText, NamesTimesInWords) {
  EXPECT_EQ(duration_text(0), "0 s");
  EXPECT_EQ(duration_text(89), "89 s");
  EXPECT_EQ(duration_text(600), "10 min");
  EXPECT_EQ(duration_text(12000), "3 h 20 min");
}

}  // namespace
}  // namespace dlscale::suite
