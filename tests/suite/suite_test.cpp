#include "suite/definition/suite.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/error.hpp"
#include "tests/core/support.hpp"
#include "tests/suite/commands.hpp"

namespace dlscale::suite {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SuiteFile : public ::testing::Test {
 protected:
  Suite load_text(const std::string& text) {
    const fs::path path = folder_.write("suite.yaml", text);
    return load_suite(path.string(), {{"out", "here"}}, test_commands);
  }
  Suite load(const std::string& steps) { return load_text("suite: test\nsteps:\n" + steps); }
  /// What is said of a suite that is refused.
  std::string error_of_text(const std::string& text) {
    return test::config_error([&] { (void)load_text(text); });
  }
  std::string error_of(const std::string& steps) {
    return error_of_text("suite: test\nsteps:\n" + steps);
  }
  test::TemporaryFolder folder_;
};

TEST_F(SuiteFile, KnowsItsCommandsWithoutTheNameOfTheFolder) {
  const fs::path path =
      folder_.write("suite.yaml",
                    "suite: test\nsteps:\n"
                    "  - {name: a, command: 'data make --out {data}'}\n"
                    "  - {name: b, command: 'bench gemm --list here -o {out}/b.jsonl'}\n");
  const auto steps = [&path](const std::string& out, const std::string& data) {
    return load_suite(path.string(), {{"out", out}, {"data", data}}, test_commands).steps;
  };
  using Words = std::vector<std::string>;
  const std::vector<SuiteStep> inside = steps("here", "here/data");
  EXPECT_EQ(inside[0].words, (Words{"data", "make", "--out", "here/data"}));
  EXPECT_EQ(inside[0].placed_words, (Words{"data", "make", "--out", "{out}/data"}));
  EXPECT_EQ(inside[1].words, (Words{"bench", "gemm", "--list", "here", "-o", "here/b.jsonl"}));
  EXPECT_EQ(inside[1].placed_words,
            (Words{"bench", "gemm", "--list", "here", "-o", "{out}/b.jsonl"}));
  EXPECT_EQ(steps("here", "there")[0].placed_words, (Words{"data", "make", "--out", "there"}));
}

TEST_F(SuiteFile, KeepsNamesOfFoldersWhole) {
  const fs::path path =
      folder_.write("suite.yaml",
                    "suite: test\nsteps:\n"
                    "  - name: '{place}'\n"
                    "    doc: into {out}\n"
                    "    command: data make --out {place}/a {options} --seed 1\n"
                    "    for: {place: ['{out}/in'], options: [{options: --pictures 4}]}\n");
  const std::map<std::string, std::string> values{{"out", "my  old\tresults"}};
  const SuiteStep step = load_suite(path.string(), values, test_commands).steps.at(0);
  using Words = std::vector<std::string>;
  EXPECT_EQ(step.words, (Words{"data", "make", "--out", "my  old\tresults/in/a", "--pictures", "4",
                               "--seed", "1"}));
  EXPECT_EQ(step.name, "my  old\tresults/in");
  EXPECT_EQ(step.doc, "into my  old\tresults");
}

TEST_F(SuiteFile, AStepMayHaveATimeAfterWhichItCountsAsHung) {
  const Suite suite =
      load("  - {name: a, command: info, timeout: 90}\n  - {name: b, command: info}\n");
  EXPECT_EQ(suite.steps[0].timeout_s, 90);
  EXPECT_EQ(suite.steps[1].timeout_s, std::nullopt);
  EXPECT_THAT(error_of("  - {name: a, command: info, timeout: 0}\n"), HasSubstr("timeout"));
  EXPECT_THAT(error_of("  - {name: a, command: info, timeout: soon}\n"), HasSubstr("timeout"));
  EXPECT_NE(error_of("  - {timeout: 9, steps: [{name: a, command: info}]}\n"), "");
}

TEST_F(SuiteFile, QuotesKeepTheWordsOfACommandTogether) {
  const fs::path path = folder_.write("suite.yaml", R"(suite: test
steps:
  - name: a
    command: bench comm --filter 'a b|"c"' --layer "d 'e'"f -o '{out}/x' --empty ''
)");
  const SuiteStep step =
      load_suite(path.string(), {{"out", "Ann's \"new\" results"}}, test_commands).steps.at(0);
  using Words = std::vector<std::string>;
  EXPECT_EQ(step.words, (Words{"bench", "comm", "--filter", "a b|\"c\"", "--layer", "d 'e'f", "-o",
                               "Ann's \"new\" results/x", "--empty", ""}));
}

TEST_F(SuiteFile, RefusesQuotesThatStayOpen) {
  EXPECT_THAT(error_of("  - {name: a, command: bench comm --filter don't}\n"),
              HasSubstr("command has a ' that is not closed"));
}

TEST_F(SuiteFile, MakesOneStepOfEachCombination) {
  const Suite suite = load(
      "  - name: t-{network}-{ranks}\n"
      "    command: bench e2e --batch {batch} -o {out}/x\n"
      "    ranks: '{ranks}'\n"
      "    for:\n"
      "      ranks: [1, 2]\n"
      "      network: [{network: a, batch: 4}, {network: b, batch: 8}]\n");
  ASSERT_EQ(suite.steps.size(), 4U);
  EXPECT_EQ(suite.steps[3].name, "t-b-2");
  EXPECT_EQ(suite.steps[3].ranks, 2);
  EXPECT_EQ(suite.steps[3].words,
            (std::vector<std::string>{"bench", "e2e", "--batch", "8", "-o", "here/x"}));
}

TEST_F(SuiteFile, RowsMayHoldPlaceholders) {
  const Suite suite = load(
      "  - name: t-{place}-{deeper}\n"
      "    command: info\n"
      "    for: {place: ['{out}', there], deeper: [{deeper: '{place}/in'}]}\n");
  ASSERT_EQ(suite.steps.size(), 2U);
  EXPECT_EQ(suite.steps[0].name, "t-here-here/in");
  EXPECT_EQ(suite.steps[1].name, "t-there-there/in");
  EXPECT_THROW(load("  - {name: 't-{a}', command: info, for: {a: ['{b}']}}\n"), ConfigError);
}

TEST_F(SuiteFile, RefusesFewerWorkersThanTheSuiteCompares) {
  const fs::path path = folder_.write(
      "suite.yaml", "suite: test\nleast_workers: 2\nsteps: [{name: a, command: info}]\n");
  EXPECT_EQ(load_suite(path.string(), {{"workers", "2"}}, test_commands).steps.size(), 1U);
  EXPECT_THROW(load_suite(path.string(), {{"workers", "1"}}, test_commands), ConfigError);
  EXPECT_THROW(load_suite(path.string(), {}, test_commands), ConfigError);
}

TEST_F(SuiteFile, LeavesOutAStepThatAsksForMoreWorkers) {
  const fs::path path = folder_.write("suite.yaml",
                                      "suite: test\nsteps:\n"
                                      "  - {name: a, command: info}\n"
                                      "  - {name: b, command: info, least_workers: 2}\n");
  EXPECT_EQ(load_suite(path.string(), {{"workers", "1"}}, test_commands).steps.size(), 1U);
  EXPECT_EQ(load_suite(path.string(), {{"workers", "2"}}, test_commands).steps.size(), 2U);
  EXPECT_EQ(load_suite(path.string(), {}, test_commands).steps.size(), 1U);
}

TEST_F(SuiteFile, AStepMayBeAnotherProgram) {
  const Suite suite = load("  - {name: a, program: 'bench --out {out}/a=b', ranks: 2}\n");
  const SuiteStep& step = suite.steps.at(0);
  EXPECT_TRUE(step.is_program);
  EXPECT_EQ(step.words, (std::vector<std::string>{"bench", "--out", "here/a=b"}));
  EXPECT_EQ(step.placed_words.back(), "{out}/a=b");
  EXPECT_EQ(command_text(step), "bench --out here/a=b");
  EXPECT_FALSE(is_benchmark(step));
  EXPECT_EQ(step.outputs, std::vector<fs::path>{"here/a=b"});
  EXPECT_THAT(error_of("  - {name: a, program: ' '}\n"),
              HasSubstr("/steps/0/program is empty. Write a program"));
  EXPECT_THAT(error_of("  - {name: a, program: x, command: info}\n"),
              HasSubstr("/steps/0/program is \"x\" (beside a command). Leave out one of them."));
}

TEST_F(SuiteFile, ThatKeepsGoingHasStepsThatBuildOnlyUponWhatTheyName) {
  const std::string steps =
      "steps:\n"
      "  - {name: a, command: data make --out a}\n"
      "  - {name: b, command: predict --machine b}\n"
      "  - {name: c, program: cat a/x}\n";
  const std::vector<SuiteStep> independent =
      load_text("suite: test\nkeep_going: true\n" + steps).steps;
  EXPECT_FALSE(builds_upon(independent[1], independent[0]));
  EXPECT_TRUE(builds_upon(independent[2], independent[0]));
  const std::vector<SuiteStep> others = load_text("suite: test\n" + steps).steps;
  EXPECT_TRUE(builds_upon(others[1], others[0]));
}

TEST_F(SuiteFile, DoesAGroupAsAWholeForEachRow) {
  const Suite suite = load(
      "  - for: {round: [1, 2]}\n"
      "    steps:\n"
      "      - {name: 'part-{round}', command: bench conv}\n"
      "      - {name: 'run-{round}-{ranks}', command: bench e2e, for: {ranks: [1, 2]}}\n");
  std::vector<std::string> names;
  for (const SuiteStep& step : suite.steps) names.push_back(step.name);
  EXPECT_EQ(names, (std::vector<std::string>{"part-1", "run-1-1", "run-1-2", "part-2", "run-2-1",
                                             "run-2-2"}));
}

TEST_F(SuiteFile, RefusesTwoStepsOfOneName) {
  EXPECT_THROW(load("  - {name: a, command: info, for: {ranks: [1, 2]}}\n"), ConfigError);
}

TEST_F(SuiteFile, RefusesAGroupWithACommand) {
  EXPECT_THROW(load("  - {command: info, steps: [{name: a, command: info}]}\n"), ConfigError);
  EXPECT_THROW(load("  - {steps: 3}\n"), ConfigError);
}

TEST_F(SuiteFile, RefusesAPlaceholderThatStandsForNothing) {
  EXPECT_THROW(load("  - {name: a, command: 'bench {what}'}\n"), ConfigError);
}

TEST_F(SuiteFile, RefusesOnOneLineWhateverStandsInIt) {
  for (const char* step :
       {"  - {name: a, command: \"data {x\\ny}\"}\n", "  - {name: a, command: \"{x\\ny\"}\n",
        "  - {name: a, command: data make, ranks: \"1\\n2\"}\n",
        "  - {name: \"a\\nb\", command: data}\n  - {name: \"a\\nb\", command: data}\n"}) {
    const std::string said = error_of(step);
    EXPECT_THAT(said, AllOf(HasSubstr("suite.yaml"), HasSubstr("\\n")));
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  }
}

TEST_F(SuiteFile, RefusesMoreStepsThanAnybodyWaitsFor) {
  std::string axes;
  for (const char axis : std::string("abcdefgh")) {
    axes += std::string(axes.empty() ? "" : ", ") + axis + ": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";
  }
  EXPECT_THAT(error_of("  - {name: x, command: data, for: {" + axes + "}}\n"),
              AllOf(HasSubstr("combinations"), HasSubstr("10000 steps")));
  EXPECT_THAT(
      error_of(
          "  - for: {a: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}\n"
          "    steps:\n"
          "      - for: {b: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], c: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}\n"
          "        steps:\n"
          "          - name: '{a}{b}{c}{d}{e}'\n"
          "            command: data\n"
          "            for: {d: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], e: [1, 2]}\n"),
      HasSubstr("more than 10000"));
}

TEST_F(SuiteFile, RefusesUnknownKeysAndStepsWithoutACommand) {
  EXPECT_THROW(load("  - {name: a, comand: info}\n"), ConfigError);
  EXPECT_THROW(load("  - {name: a}\n"), ConfigError);
  EXPECT_THROW(load("  - {name: a, command: info, ranks: two}\n"), ConfigError);
}

TEST_F(SuiteFile, NamesAMisspeltKeyAndTheNearest) {
  EXPECT_THAT(error_of("  - {name: a, comand: info}\n"),
              HasSubstr("suite.yaml: /steps/0/comand is not a known key. Did you mean "
                        "\"command\"?"));
  EXPECT_THAT(error_of("  - {for: {round: [1]}, step: [{name: a, command: info}]}\n"),
              HasSubstr("/steps/0/step is not a known key. Did you mean \"steps\"?"));
  EXPECT_THAT(error_of("  - {for: {round: [1]}, steps: [{name: a, command: info, rank: 2}]}\n"),
              HasSubstr("/steps/0/steps/0/rank is not a known key. Did you mean \"ranks\"?"));
  EXPECT_THAT(error_of_text("sute: test\nsteps: [{name: a, command: info}]\n"),
              HasSubstr("suite.yaml: /sute is not a known key. Did you mean \"suite\"?"));
}

TEST_F(SuiteFile, RefusesNumbersThatAreNone) {
  const auto with = [this](const std::string& field) {
    return error_of("  - {name: a, command: info, " + field + "}\n");
  };
  for (const char* ranks : {"0", "-2", "two", "1.5", "99999999999"}) {
    EXPECT_THAT(with(std::string("ranks: ") + ranks),
                AllOf(HasSubstr("suite.yaml: /steps/0/ranks is "), HasSubstr("whole number")))
        << ranks;
  }
  for (const char* seconds : {"-1", "soon", "nan", "inf"}) {
    EXPECT_THAT(with(std::string("seconds: ") + seconds),
                AllOf(HasSubstr("suite.yaml: /steps/0/seconds is "), HasSubstr("Write a number")))
        << seconds;
  }
  EXPECT_THAT(with("always: maybe"),
              HasSubstr("/steps/0/always is \"maybe\" (neither). Write true or false."));
  EXPECT_NO_THROW(load("  - {name: a, command: info, ranks: 1, seconds: 0.5, always: false}\n"));
}

TEST_F(SuiteFile, RefusesRanksThatAPlaceholderMakesWrong) {
  EXPECT_THAT(error_of("  - {name: 'a-{n}', command: info, ranks: '{n}', for: {n: [1, 0]}}\n"),
              HasSubstr("/steps/0/ranks is \"0\""));
}

TEST_F(SuiteFile, RefusesACommandThatIsNone) {
  EXPECT_THAT(
      error_of("  - {name: a, command: 'bnech conv'}\n"),
      AllOf(HasSubstr("suite.yaml: /steps/0/command starts with \"bnech\", which is not a verb "
                      "of dlscale."),
            HasSubstr("Did you mean \"bench\"?")));
  EXPECT_THAT(error_of("  - {name: a, command: dlscale info}\n"),
              HasSubstr("/steps/0/command starts with \"dlscale\""));
  EXPECT_THAT(error_of("  - {name: a, command: ' '}\n"), HasSubstr("/steps/0/command is empty"));
}

TEST_F(SuiteFile, SaysWhatIsMissing) {
  EXPECT_THAT(error_of("  - {name: a}\n"), HasSubstr("/steps/0/command is missing"));
  EXPECT_THAT(error_of("  - {command: info}\n"), HasSubstr("/steps/0/name is missing"));
  EXPECT_THAT(error_of_text("steps: [{name: a, command: info}]\n"),
              HasSubstr("suite.yaml: /suite is missing"));
  EXPECT_THAT(error_of_text("suite: test\n"), HasSubstr("neither steps nor cells"));
  EXPECT_THAT(error_of_text("suite: test\nleast_workers: none\nsteps: []\n"),
              HasSubstr("/least_workers is \"none\" (not a whole number)"));
  EXPECT_THAT(error_of_text("suite: test\nsteps: []\n"), HasSubstr("/steps is a list (empty)"));
  EXPECT_THAT(error_of("  - {name: 'a-{n}', command: info, for: {n: []}}\n"),
              HasSubstr("/steps/0/for/n is a list (empty)"));
  EXPECT_THAT(error_of_text("suite: [unclosed"), HasSubstr("suite.yaml:1: this is not YAML"));
  EXPECT_THAT(error_of_text("suite: test\n---\nsuite: other\n"),
              HasSubstr("suite.yaml:2: here the file's first document has ended"));
  EXPECT_THAT(error_of_text("suite: " + std::string(10'000, '[')),
              HasSubstr("suite.yaml:1: this is nested"));
}

TEST_F(SuiteFile, ReadsWhichStepsAlwaysRun) {
  const Suite suite = load(
      "  - {name: measure, command: bench conv}\n"
      "  - {name: report, command: report, always: true}\n");
  EXPECT_FALSE(suite.steps[0].always);
  EXPECT_TRUE(suite.steps[1].always);
}

TEST(Step, WritesWhatItsOptionsNameWithoutFormats) {
  const auto outputs = [](std::vector<std::string> words) {
    SuiteStep step;
    step.words = std::move(words);
    std::vector<std::string> paths;
    for (const auto& path : outputs_of(step, test_commands.formats)) paths.push_back(path.string());
    return paths;
  };
  EXPECT_THAT(outputs({"validate", "a", "-o", "json=a.json", "-o", "b.txt", "-o", "csv=-"}),
              ElementsAre("a.json", "b.txt"));
  EXPECT_THAT(outputs({"bench", "gemm", "-o", "json=a"}), ElementsAre("json=a"))
      << "benchmarks write one format";
  EXPECT_THAT(outputs({"report", "a", "-o", "page", "--write", "json=a.md"}),
              ElementsAre("page", "a.md"));
  EXPECT_THAT(outputs({"validate", "a", "-o", "lr=0.1.txt", "-o", "csv="}),
              ElementsAre("lr=0.1.txt"));
}

}  // namespace
}  // namespace dlscale::suite
