#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/base/error.hpp"
#include "suite/definition/suite.hpp"
#include "tests/core/support.hpp"
#include "tests/suite/commands.hpp"

namespace dlscale::suite {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Suite load(const std::string& cells) {
  return test::load_text("suite: test\ncells:\n" + cells, [](const std::string& file) {
    return load_suite(file, {{"out", "my out"}, {"data", "my out/data"}, {"threads", "7"}},
                      test_commands);
  });
}

std::string error_of(const std::string& cells) {
  return test::config_error([&] { (void)load(cells); });
}

TEST(SuiteCells, AreOneForEachCombinationWithItsShape) {
  const Suite suite = load(
      "  - name: reduce-{size}-{nodes}x{ranks_per_node}\n"
      "    for: {size: [1, 2], place: [{nodes: 1, ranks: 2}, {nodes: 3, ranks: 1}]}\n"
      "    shape: {nodes: '{nodes}', ranks_per_node: '{ranks}', threads: 4}\n"
      "    command: bench comm --sizes {size} --threads {threads} --ranks {ranks} -o {result}\n"
      "    seconds: 3\n"
      "    timeout: 20\n");
  ASSERT_EQ(suite.cells.size(), 4U);
  const SuiteCell& last = suite.cells.back();
  EXPECT_EQ(last.name, "reduce-2-3x1");
  EXPECT_EQ(last.id, "reduce-2-3x1");
  EXPECT_EQ(last.shape, (LaunchShape{.nodes = 3, .ranks_per_node = 1, .threads = 4}));
  EXPECT_EQ(last.seconds, 3);
  EXPECT_EQ(last.timeout_s, 20);
  EXPECT_THAT(last.words, ElementsAre("bench", "comm", "--sizes", "2", "--threads", "4", "--ranks",
                                      "3", "-o", "{cell}/result.jsonl"));
}

TEST(SuiteCells, KnowWhereTheyReadFromWhateverTheFolderIsCalled) {
  const Suite suite =
      load("  - {name: a/b, command: 'bench io --data {data} -o {cell}/io.jsonl'}\n");
  const SuiteCell& cell = suite.cells.at(0);
  EXPECT_EQ(cell.id, "a-b");
  EXPECT_EQ(cell.shape, LaunchShape{});
  EXPECT_THAT(cell.words,
              ElementsAre("bench", "io", "--data", "my out/data", "-o", "{cell}/io.jsonl"));
  EXPECT_THAT(cell.placed_words,
              ElementsAre("bench", "io", "--data", "{out}/data", "-o", "{cell}/io.jsonl"));
}

TEST(SuiteCells, AreRefusedWithPlaceAndAdvice) {
  const std::string command = "command: 'bench comm -o {result}'";
  EXPECT_THAT(error_of("  - {name: a, command: 'bench comm'}\n"), HasSubstr("Add -o {result}"));
  EXPECT_THAT(error_of("  - {name: a, " + command + "}\n  - {name: a, " + command + "}\n"),
              HasSubstr("the same folder"));
  EXPECT_THAT(error_of("  - {name: a/b, " + command + "}\n  - {name: a-b, " + command + "}\n"),
              HasSubstr("\"a/b\" and \"a-b\""));
  EXPECT_THAT(error_of("  - {name: .hidden, " + command + "}\n"), HasSubstr("no dot"));
  EXPECT_THAT(error_of("  - {name: " + std::string(300, 'a') + ", " + command + "}\n"),
              HasSubstr("name of a folder"));
  EXPECT_THAT(error_of("  - {name: a, shape: {nodes: 0}, " + command + "}\n"), HasSubstr("nodes"));
  EXPECT_THAT(
      error_of("  - {name: a, shape: {nodes: 100000, ranks_per_node: 100000}, " + command + "}\n"),
      HasSubstr("more than 1000000 ranks"));
  EXPECT_THAT(error_of("  - {name: a, shape: {ranks: 2}, " + command + "}\n"), HasSubstr("ranks"));
  EXPECT_THAT(error_of("  - {name: a, timeout: 0, " + command + "}\n"), HasSubstr("timeout"));
  EXPECT_THAT(error_of("  - {name: a, ranks: 2, " + command + "}\n"), HasSubstr("ranks"));
  EXPECT_THAT(error_of("  - {name: 'a-{workers}', " + command + "}\n"),
              HasSubstr("{workers} stands for nothing"))
      << "cells do not depend on the machine where the suite is read";
  EXPECT_THAT(error_of("  []\n"), HasSubstr("empty"));
}

TEST(SuiteCells, HaveTheirTagsAndThoseOfTheSuite) {
  const Suite suite = load(
      "  - {name: a, command: info}\n"
      "  - name: b-{net}\n"
      "    for: {net: [alexnet, resnet50_v1.5]}\n"
      "    tags: [compute, '{net}', quick]\n"
      "    command: info {net}\n"
      "  - {name: c, tags: training, command: info}\n"
      "tags: [quick, daily]\n");
  ASSERT_EQ(suite.cells.size(), 4U);
  EXPECT_THAT(suite.tags, ElementsAre("daily", "quick"));
  EXPECT_THAT(suite.cells[0].tags, ElementsAre("daily", "quick"));
  EXPECT_THAT(suite.cells[2].tags, ElementsAre("compute", "daily", "quick", "resnet50_v1.5"));
  EXPECT_THAT(suite.cells[3].tags, ElementsAre("daily", "quick", "training"));
  for (const char* tag : {"'a b'", "''", "-x", "'a,b'", "é", "'{size}'"}) {
    EXPECT_THAT(error_of(std::string("  - {name: a, command: info, tags: [") + tag + "]}\n"),
                HasSubstr("/cells/0/tags"))
        << tag;
  }
  EXPECT_THAT(error_of("  - {name: a, command: info, tags: [" + std::string(41, 'a') + "]}\n"),
              HasSubstr("40 at most"));
}

TEST(SuiteCells, AreNotMoreThanAnybodyWaitsFor) {
  std::string digits = "[0";
  for (int i = 1; i < 100; ++i) digits += ", " + std::to_string(i);
  digits += "]";
  const std::string cell = "  - name: '{a}-{b}-{c}'\n    for: {a: " + digits + ", b: " + digits +
                           ", c: " + digits + "}\n    command: bench comm -o {result}\n";
  EXPECT_THAT(error_of(cell), HasSubstr("more than 100000 cells"));
}

TEST(SuiteCells, TakeOptionsForAllBenchmarks) {
  Suite suite = load("  - {name: a, command: 'bench comm -o {result}'}\n");
  add_options({.wait_quiet_s = 3, .cluster = ""}, test_commands, suite);
  EXPECT_THAT(suite.cells[0].words, ::testing::Contains("--wait-quiet"));
  EXPECT_THAT(suite.cells[0].placed_words, ::testing::Contains("--wait-quiet"));
}

TEST(SuiteCells, OrStepsThereMustBe) {
  EXPECT_THAT(test::config_error([] {
                (void)test::load_text("suite: nothing\n", [](const std::string& file) {
                  return load_suite(file, {}, test_commands);
                });
              }),
              HasSubstr("neither steps nor cells"));
}

}  // namespace
}  // namespace dlscale::suite
