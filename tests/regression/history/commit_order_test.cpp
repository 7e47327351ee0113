// The names, times and order of commits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/time_text.hpp"
#include "histories.hpp"
#include "regression/check/check.hpp"
#include "regression/history/commit_name.hpp"
#include "regression/history/listing.hpp"
#include "tests/core/support.hpp"

namespace dlscale::regression::history {
namespace {

using samples::kernel;
using samples::run_of;
using samples::TemporaryFolder;

const std::string full = "abc1234def5678abc1234def5678abc1234def56";

TEST(CommitName, IsAHexadecimalNameInSmallLetters) {
  EXPECT_EQ(parse_commit_name("abc1234", "--commit"), "abc1234");
  EXPECT_EQ(parse_commit_name("ABC1234", "--commit"), "abc1234");
  EXPECT_EQ(parse_commit_name(full, "--commit"), full);
  EXPECT_EQ(parse_commit_name(full + full.substr(0, 24), "--commit"), full + full.substr(0, 24));
}

struct Refused {
  std::string word;
  std::string why;
};

TEST(CommitName, IsRefusedWithWhatToDo) {
  const std::string moves = "name its repository to look it up";
  for (const auto& [word, why] : std::vector<Refused>{
           {"v1.0", moves},
           {"HEAD", moves},
           {"HEAD~1", moves},
           {"main", moves},
           {"latest", moves},
           {"nightly-2026-08-01", moves},
           {"origin/main", moves},
           {"refs/heads/main", moves},
           {"-x", moves},
           {"abc1234;rm", moves},
           {"abc 1234", moves},
           {"é1", moves},
           {"r48213", moves},
           {"v1.2-3-gabc1234", "for commit abc1234. Write --commit abc1234"},
           {"release-2-14-gABC1234", "for commit ABC1234"},
           {"abc1234-dirty", "commit abc1234 with local changes"},
           {"v1.2-3-gabc1234-dirty", "commit abc1234 with local changes"},
           {"abc1234-broken", "commit abc1234 with local changes"},
           {"abc1234+", "commit abc1234 with local changes"},
           {"abc123", "has 6 digits"},
           {full + "0", "has 41 digits"},
           {std::string(40, '0'), "zeros only"},
           {"0000000", "zeros only"},
           {std::string(100'000, 'x'), "(100000 bytes)"}}) {
    const std::string said =
        test::config_error([&] { (void)parse_commit_name(word, "--commit"); });
    EXPECT_NE(said.find(why), std::string::npos) << said;
    EXPECT_LT(said.size(), 500U);
  }
}

TEST(CommitNames, OfOneCommitAreOne) {
  const CommitNames names({"abc1234", "ABC1234", full, "ABC1234DEF", "fff0000", "c1"});
  for (const char* name : {"abc1234", "ABC1234", "ABC1234DEF", "abc1234def"}) {
    EXPECT_EQ(names.whole(name), std::string(name) == "abc1234def" ? full : full) << name;
  }
  EXPECT_EQ(names.whole("fff0000"), "fff0000");
  EXPECT_EQ(names.whole("c1"), "c1");
  EXPECT_TRUE(names.ambiguous().empty());
}

TEST(CommitNames, OfSeveralCommitsStayAndAreTold) {
  const std::string other = "abc1234" + std::string(33, '1');
  const CommitNames names({"abc1234", full, other, "abc1234d"});
  EXPECT_EQ(names.whole("abc1234"), "abc1234");
  EXPECT_EQ(names.whole("abc1234d"), full);
  EXPECT_EQ(names.ambiguous(), std::vector<std::string>{"abc1234"});
}

TEST(CommitNames, MayBeWrittenLongerShorterAndInCapitals) {
  EXPECT_TRUE(may_mean("ABC1", full));
  EXPECT_TRUE(may_mean(full, "abc1234"));
  EXPECT_FALSE(may_mean("abc2", full));
  EXPECT_FALSE(may_mean("abc1234fff", "abc1234def"));
  EXPECT_TRUE(may_mean("c00", "c0012"));
}

TEST(FutureTime, IsRefusedBeyondAnHour) {
  const std::int64_t now = std::max<std::int64_t>(parse_time(utc_now(), ""),
                                                  parse_time("2026-11-29T00:00:00Z", ""));
  expect_past(now, "--time", "");
  expect_past(now + 1800, "--time", "");
  for (const std::int64_t ahead : {7'200L, 7 * 86'400L, 3'155'760'000L}) {
    EXPECT_NE(test::config_error([&] { expect_past(now + ahead, "--time", "Write it."); })
                  .find("would stay the newest"),
              std::string::npos);
  }
}

TEST(FutureTime, OfAFileIsRefusedUnlessTheTimeIsGiven) {
  const TemporaryFolder folder;
  const auto file = folder / "a.json";
  samples::write_text(
      file, R"({"context":{"date":"2126-08-01T10:00:00+00:00","num_cpus":2},"benchmarks":[)"
            R"({"name":"a","run_type":"iteration","real_time":1.0,"cpu_time":1.0,"time_unit":"ns"}]})");
  RunOptions options;
  options.commit = "abc1234";
  EXPECT_NE(test::config_error([&] { (void)read_run(file.string(), options); }).find("Give the time"),
            std::string::npos);
  options.time = 1'700'000'000;
  EXPECT_EQ(read_run(file.string(), options).time, 1'700'000'000);
}

/// A run of a commit of made-up ancestry.
struct Added {
  std::string commit;
  std::int64_t time = 0;
  std::uint64_t ancestors = 0;
  double value = 0;
};

ImportedRun imported(const Added& added, int number) {
  ImportedRun run = run_of({kernel()}, number, added.value);
  run.commit = added.commit;
  run.time = added.time;
  for (KeyedPoint& each : run.points) {
    each.point.commit = added.commit;
    each.point.time = added.time;
    each.point.ancestors = added.ancestors;
  }
  return run;
}

/// All that a check and a list say of a history.
std::string answer(const std::vector<ImportedRun>& runs) {
  const TemporaryFolder folder;
  Store store = samples::folder_store(folder.path());
  store.add(runs);
  const auto all = [](const SeriesKey&) { return true; };
  const CheckReport report = check(store, all);
  std::string text = std::to_string(static_cast<int>(exit_code(report)));
  for (const Alert& alert : report.alerts) {
    text += " " + alert.commit + " " + alert.before + " " + alert.latest;
    for (const AlertMetric& metric : alert.metrics) text += " " + std::to_string(metric.ratio);
  }
  for (const Rerun& rerun : report.reruns) text += " " + rerun.commit;
  text += " " + std::to_string(report.order.by_name) + " " + std::to_string(report.order.by_time) +
          " " + std::to_string(report.order.branched);
  const std::size_t last = 100;
  for (const ListedSeries& series : list(store, {all, std::nullopt, last})) {
    for (const CommitPoint& commit : series.latest) text += "\n" + commit.commit;
  }
  return text;
}

/// 30 commits, some measured twice, named short or in capitals, of one second, with clocks that are
/// wrong, or of branches.
std::vector<ImportedRun> history_of(unsigned kind, std::mt19937& random) {
  std::normal_distribution<double> noise(0, 0.01);
  std::vector<ImportedRun> runs;
  for (int i = 0; i < 30; ++i) {
    const std::string name = std::to_string(1'000'000 + 7919 * i) + std::string(33, 'a');
    Added added{name, 1'700'000'000 + 3600 * i, static_cast<std::uint64_t>(i + 1), 0};
    if (kind % 3 == 1) added.time -= 7200 * static_cast<int>(random() % 3);
    if (kind % 3 == 2) added.time -= added.time % 20'000;
    if (kind % 4 == 1) added.ancestors = random() % 2 == 0 ? 0 : added.ancestors;
    if (kind % 4 == 2) added.ancestors = added.ancestors / 2 + 1;
    for (unsigned again = 0; again < 1 + random() % 3; ++again) {
      added.value = (i < 18 ? 1.0 : 1.15) * std::exp(noise(random));
      if (again == 1) added.commit = name.substr(0, 8);
      if (again == 2) added.commit.back() = 'A';
      if (again == 2) added.time += 60;
      runs.push_back(imported(added, 100 * i + static_cast<int>(again)));
    }
  }
  return runs;
}

TEST(Order, OfAddingNeverCounts) {
  std::mt19937 random(32);
  for (unsigned kind = 0; kind < 12; ++kind) {
    std::vector<ImportedRun> runs = history_of(kind, random);
    const std::string first = answer(runs);
    for (int shuffle = 0; shuffle < 3; ++shuffle) {
      std::ranges::shuffle(runs, random);
      EXPECT_EQ(answer(runs), first) << kind;
    }
  }
}

TEST(Order, OfAncestryWinsOverClocksThatAreWrong) {
  std::vector<ImportedRun> runs;
  for (int i = 0; i < 20; ++i) {
    const std::int64_t time = i == 7 ? 1'000'000'000 : 1'700'000'000 + 3600 * i;
    const std::string name = std::to_string(3'000'000 + i);
    runs.push_back(imported({name, time, static_cast<std::uint64_t>(i + 1), 1.0 + i / 1e4}, i));
  }
  const std::string said = answer(runs);
  EXPECT_NE(said.find("3000006\n3000007\n3000008"), std::string::npos) << said;
}

/// The newest commits of three series of a place, and the one that is the newest of all.
struct Newest {
  std::vector<Added> commits;
  std::string newest;
};
class NewestOfAPlace : public testing::TestWithParam<Newest> {};

TEST_P(NewestOfAPlace, DoesNotDependOnTheOrderOfItsSeries) {
  std::vector<std::size_t> turn{0, 1, 2};
  do {
    std::vector<ImportedRun> runs;
    for (std::size_t i = 0; i < turn.size(); ++i) {
      const int number = static_cast<int>(i);
      runs.push_back(imported(GetParam().commits[turn[i]], number));
      runs.back().points[0].key = kernel("conv" + std::to_string(i));
    }
    const TemporaryFolder folder;
    Store store = samples::folder_store(folder.path());
    store.add(runs);
    for (const SeriesCheck& series : check(store, [](const SeriesKey&) { return true; }).series) {
      const bool has_ended = series.state == SeriesState::ended;
      EXPECT_EQ(has_ended, series.newest.commit != GetParam().newest) << series.newest.commit;
    }
  } while (std::ranges::next_permutation(turn).found);
}

INSTANTIATE_TEST_SUITE_P(
    Ancestry, NewestOfAPlace,
    testing::Values(
        Newest{{{"aaaaaaa", 1000, 0, 1.0}, {"bbbbbbb", 500, 20, 1.1}, {"ccccccc", 2000, 10, 1.2}},
               "ccccccc"},
        Newest{{{"aaaaaaa", 1000, 30, 1.0}, {"bbbbbbb", 500, 40, 1.1}, {"ccccccc", 2000, 10, 1.2}},
               "bbbbbbb"},
        Newest{{{"aaaaaaa", 1000, 0, 1.0}, {"bbbbbbb", 500, 0, 1.1}, {"ccccccc", 700, 10, 1.2}},
               "aaaaaaa"},
        Newest{{{"aaaaaaa", 1000, 7, 1.0}, {"bbbbbbb", 1000, 9, 1.1}, {"ccccccc", 1000, 0, 1.2}},
               "bbbbbbb"}));

TEST(Order, ThatIsNotSureIsCounted) {
  const auto doubts_of = [](const std::vector<ImportedRun>& runs) {
    const TemporaryFolder folder;
    Store store = samples::folder_store(folder.path());
    store.add(runs);
    return check(store, [](const SeriesKey&) { return true; }).order;
  };
  const auto at = [](const char* name, std::int64_t hour, std::uint64_t ancestors) {
    static int number = 0;
    ++number;
    return imported({name, 1'700'000'000 + 3600 * hour, ancestors, 1.0 + number / 1e4}, number);
  };
  // None has a known ancestry, as without --repository: times are all there is.
  EXPECT_EQ(doubts_of({at("aaaaaaa1", 1, 0), at("aaaaaaa2", 2, 0)}).by_time, 0U);
  EXPECT_EQ(doubts_of({at("aaaaaaa1", 1, 0), at("aaaaaaa2", 1, 0)}).by_name, 1U);
  EXPECT_EQ(doubts_of({at("aaaaaaa1", 1, 5), at("aaaaaaa2", 2, 0)}).by_time, 1U);
  EXPECT_EQ(doubts_of({at("aaaaaaa1", 1, 5), at("aaaaaaa2", 2, 5)}).branched, 1U);
  const OrderDoubts none = doubts_of({at("aaaaaaa1", 1, 5), at("aaaaaaa2", 1, 6)});
  EXPECT_EQ(none.by_name + none.by_time + none.branched, 0U);
}

TEST(Store, TakesAFileAgainUnderAnotherNameOfItsCommit) {
  const TemporaryFolder folder;
  Store store = samples::folder_store(folder.path());
  ImportedRun run = imported({"abc1234", 1'700'000'000, 0, 1.0}, 1);
  store.add(std::vector{run});
  run.commit = full;
  EXPECT_EQ(store.add(std::vector{run}).there_already.size(), 1U);
  run.commit = "fff1234";
  EXPECT_THROW(store.add(std::vector{run}), ConfigError);
}

}  // namespace
}  // namespace dlscale::regression::history
