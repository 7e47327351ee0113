#include "app/history/named_commit.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace dlscale::app {
namespace {

using regression::history::ImportedRun;
using regression::history::RunRecord;

RunRecord record_of(const std::string& commit, std::int64_t time) {
  RunRecord record;
  record.commit = commit;
  record.time = time;
  return record;
}

ImportedRun imported(const std::string& commit, std::int64_t time) {
  ImportedRun run;
  run.commit = commit;
  run.time = time;
  return run;
}

const std::string full = "abc1234def5678abc1234def5678abc1234def56";

TEST(NamedCommit, IsComparedWithOtherNamesAndTheEarliestTimeOfTheHistory) {
  NamedCommit named;
  named.time = "given";
  const std::vector there{record_of("fff0000", 5), record_of("abc1234", 90),
                          record_of("ABC1234", 70), record_of(full, 80)};
  const auto notes_on = [&](const std::string& commit, std::int64_t time) {
    std::string all;
    for (const std::string& note : named.compare(there, std::vector{imported(commit, time)})) {
      all += note.substr(0, note.find(", which")) + "; ";
    }
    return all;
  };
  EXPECT_EQ(notes_on("eee1111", 1), "");
  EXPECT_EQ(notes_on("fff0000", 5), "");
  EXPECT_EQ(notes_on(full, 70), full + " counts as commit abc1234; ");
  EXPECT_EQ(notes_on("abc1234d", 70), "abc1234d counts as commit abc1234; ");
  EXPECT_EQ(notes_on("abc1234", 70), "abc1234 counts as commit ABC1234; ");
  EXPECT_NE(notes_on("fff0000", 60).find("the history has commit fff0000 at 1970-01-01T00:00:05Z"),
            std::string::npos);
  EXPECT_NE(notes_on(full, 90).find("at 1970-01-01T00:01:10Z"), std::string::npos);
}

TEST(NamedCommit, OfManyRunsIsComparedQuickly) {
  NamedCommit named;
  named.time = "given";
  std::vector<RunRecord> there;
  std::vector<ImportedRun> runs;
  for (int i = 0; i < 10'000; ++i) {
    const std::string begin = std::to_string(10'000'000 + i);
    there.push_back(record_of(begin + std::string(32, 'a'), i));
    if (i % 10 == 0) runs.push_back(imported(begin, i + 1));
  }
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(named.compare(there, runs).size(), 2000U);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

}  // namespace
}  // namespace dlscale::app
