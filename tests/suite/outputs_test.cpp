#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/results/measurement.hpp"
#include "suite/steps/suite_outputs.hpp"
#include "tests/core/support.hpp"

namespace dlscale::suite {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

enum class End { there, missing };
enum class Resumes { no, yes };

class Outputs : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path file(const std::string& name) const {
    return folder_.path() / (name + ".jsonl");
  }

  /// A step that writes <name>.jsonl.
  [[nodiscard]] SuiteStep step(const std::string& name, Resumes resumes = Resumes::yes) const {
    SuiteStep made;
    made.name = name;
    made.words = {"bench", "conv", "-o", file(name).string()};
    if (resumes == Resumes::yes) made.words.emplace_back("--resume");
    made.placed_words = made.words;
    made.outputs = {file(name)};
    return made;
  }

  /// As if the step had measured one row.
  void measure(const std::string& name, End end = End::there) const {
    ResultHeader header;
    header.benchmark = "conv";
    ResultWriter writer(file(name), header);
    Measurement row;
    row.benchmark = "conv";
    row.series["time"] = make_series("s", {{1e-3}});
    writer.write(row);
    if (end == End::there) writer.finish();
  }

  [[nodiscard]] SuiteProgress progress() const { return {folder_.path(), "this build"}; }

  /// What is said where the steps are refused; empty where they are not.
  [[nodiscard]] std::string refusal(const std::vector<SuiteStep>& steps,
                                    Fresh fresh = Fresh::no) const {
    try {
      protect_outputs(steps, progress(), fresh);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }

  test::TemporaryFolder folder_;
};

TEST_F(Outputs, ThatAreNotThereAreNotInTheWay) {
  EXPECT_EQ(refusal({step("one"), step("two")}), "");
  std::ofstream(file("one")).flush();
  EXPECT_EQ(refusal({step("one")}), "") << "an empty file";
}

TEST_F(Outputs, ThatAreTheSuitesOwnFilesAreRefused) {
  const fs::path out = folder_.path();
  fs::create_symlink("cells.jsonl", out / "link.jsonl");
  fs::create_symlink(out, out / "same");
  std::ofstream(out / "canary") << "x";
  fs::create_hard_link(out / "canary", out / "hard.jsonl");
  for (const char* name : {"cells.jsonl", "./x/../cells.jsonl", "link.jsonl", "same/cells.jsonl",
                           "cells/a/row.json", ".done/one", ".cells/x", "hard.jsonl"}) {
    for (const std::string& words : {std::string("-o"), std::string("--output=")}) {
      SuiteStep step;
      step.name = "one";
      step.words = {"bench", "conv"};
      const std::string path = (out / name).string();
      if (words == "-o") step.words.insert(step.words.end(), {words, path});
      if (words != "-o") step.words.push_back(words + path);
      step.outputs = outputs_of(step);
      EXPECT_THROW(refuse_own_files(std::span(&step, 1), out), ConfigError) << name << words;
    }
  }
  const SuiteStep other = step("other");
  EXPECT_NO_THROW(refuse_own_files(std::span(&other, 1), out));
}

TEST_F(Outputs, ThatAStepTakesFromCellsAreMissed) {
  const fs::path out = folder_.path();
  const fs::path list = out / "cells.jsonl";
  const auto write = [](const fs::path& path, const char* text) { std::ofstream(path) << text; };
  fs::create_directories(out / "cells" / "a");
  write(out / "cells" / "a" / "row.json", "a");
  write(list, "a\n");
  const std::map<std::string, std::function<void()>> ways{
      {"written", [&] { write(list, "mine"); }},
      {"of the same size", [&] { write(list, "b\n"); }},
      {"emptied", [&] { write(list, ""); }},
      {"appended", [&] { std::ofstream(list, std::ios::app) << "b\n"; }},
      {"removed", [&] { fs::remove(list); }},
      {"linked",
       [&] {
         fs::remove(list);
         fs::create_symlink("/dev/null", list);
       }},
      {"moved over", [&] {
         write(out / "other", "mine");
         fs::rename(out / "other", list);
       }}};
  for (const auto& [name, way] : ways) {
    const CellResults results(out);
    EXPECT_NO_THROW(results.guard(step("one"), [] {})) << name;
    EXPECT_THAT(test::config_error([&] { results.guard(step("one"), way); }),
                AllOf(HasSubstr("step \"one\" wrote over"), HasSubstr("put back")))
        << name;
    EXPECT_EQ(test::read_file(list), "a\n") << name;
    const auto fails = [&](const auto& end) {
      return [&] {
        way();
        throw end;
      };
    };
    EXPECT_THROW(results.guard(step("one"), fails(Interrupted(2))), Interrupted) << name;
    EXPECT_EQ(test::read_file(list), "a\n") << name;
    EXPECT_THROW(results.guard(step("one"), fails(Unsupported("no MPI"))), Unsupported) << name;
    EXPECT_EQ(test::read_file(list), "a\n") << name;
    EXPECT_THROW(results.guard(step("one"), fails(std::bad_alloc())), std::bad_alloc) << name;
    EXPECT_EQ(test::read_file(list), "a\n") << name;
  }
  const CellResults results(out);
  const auto other_row = [&] { write(out / "cells" / "a" / "row.json", "other"); };
  EXPECT_THAT(test::config_error([&] { results.guard(step("one"), other_row); }),
              HasSubstr("result of a cell"));
}

TEST_F(Outputs, OfNobodyKnowsWhomAreKept) {
  measure("one");
  measure("two");
  EXPECT_THAT(refusal({step("one"), step("two")}),
              AllOf(HasSubstr("one.jsonl and 1 more, 2 measurements"), HasSubstr("nothing tells"),
                    HasSubstr("--restart")));
  EXPECT_EQ(refusal({step("one"), step("two")}, Fresh::yes), "");
}

TEST_F(Outputs, OfTheStepThatWasInterruptedAreGoneOnWith) {
  measure("one");
  progress().mark(step("one"), 1.0);
  measure("two", End::missing);
  EXPECT_NE(refusal({step("one"), step("two")}), "");
  progress().mark_begun(step("two"));
  EXPECT_EQ(refusal({step("one"), step("two")}), "");
}

TEST_F(Outputs, OfAStepThatDoesNotResumeAreLostAnywayIfItDidNotFinish) {
  measure("one", End::missing);
  EXPECT_EQ(refusal({step("one", Resumes::no)}), "");
  measure("one");
  EXPECT_NE(refusal({step("one", Resumes::no)}), "");
}

TEST_F(Outputs, AfterAStepThatIsDoneAgainAreKept) {
  measure("two");
  progress().mark(step("two"), 1.0);
  EXPECT_THAT(refusal({step("one"), step("two")}), HasSubstr("step \"one\" before it"));
  measure("one");
  progress().mark(step("one"), 1.0);
  EXPECT_EQ(refusal({step("one"), step("two")}), "");
}

TEST_F(Outputs, AreNotAllLostWhereStepsBeforeThemAreDone) {
  const std::vector<SuiteStep> steps{step("one"), step("two"), step("three")};
  for (const char* name : {"one", "two", "three"}) measure(name);
  progress().mark(steps[0], 1.0);
  progress().mark(steps[2], 1.0);
  EXPECT_THAT(refusal(steps),
              AllOf(HasSubstr("two.jsonl and 1 more, 2 measurements"),
                    HasSubstr("move these files away to measure only that anew (1 step done before "
                              "stays); --restart discards all.")));
  fs::remove(file("two"));
  fs::remove(file("three"));
  EXPECT_EQ(refusal(steps), "");
  fs::remove_all(folder_.path() / ".done");
  EXPECT_THAT(refusal(steps), HasSubstr("or give --restart to discard them."));
}

TEST_F(Outputs, ThatWereGivenUpMayGo) {
  const std::vector<SuiteStep> steps{step("one"), step("two")};
  measure("one");
  measure("two");
  progress().give_up(steps);
  EXPECT_EQ(refusal(steps), "");
  progress().mark(step("one"), 1.0);
  EXPECT_EQ(refusal(steps), "") << "as when the suite was interrupted after its first step";
}

TEST_F(Outputs, DoNotReplaceWhatIsNotTheirs) {
  std::ofstream(file("one")) << "precious notes\n";
  fs::create_directories(file("two") / "deep");
  for (const Fresh fresh : {Fresh::no, Fresh::yes}) {
    EXPECT_THAT(refusal({step("one")}, fresh), HasSubstr("is not a result file"));
    EXPECT_THAT(refusal({step("two")}, fresh), HasSubstr("is a folder"));
  }
  EXPECT_THROW(empty_outputs(step("one")), ConfigError);
  EXPECT_THROW(empty_outputs(step("two")), ConfigError);
  EXPECT_EQ(fs::file_size(file("one")), 15U);
  EXPECT_TRUE(fs::exists(file("two") / "deep"));
}

TEST_F(Outputs, AreEmptiedWhereAStepThatResumesBeginsAnew) {
  measure("one");
  measure("two");
  empty_outputs(step("one"));
  empty_outputs(step("two", Resumes::no));
  EXPECT_TRUE(fs::is_empty(file("one")));
  EXPECT_FALSE(fs::is_empty(file("two"))) << "its command writes it anew";
}

class Findings : public ::testing::Test {
 protected:
  /// A step that has written one row of each status.
  [[nodiscard]] SuiteStep step(const std::string& name, const std::map<std::string, Status>& rows,
                               End end = End::there) const {
    const fs::path path = folder_.path() / (name + ".jsonl");
    ResultHeader header;
    header.benchmark = "conv";
    ResultWriter writer(path, header);
    for (const auto& [layer, status] : rows) {
      Measurement row;
      row.benchmark = "conv";
      row.axes = {{"layer", layer}};
      row.status = status;
      row.reason = "since " + layer;
      if (status == Status::ok) row.series["time"] = make_series("s", {{1e-3}});
      writer.write(row);
    }
    if (end == End::there) writer.finish();
    SuiteStep made;
    made.name = name;
    made.words = {"bench", "conv", "-o", path.string()};
    made.outputs = {path};
    return made;
  }

  test::TemporaryFolder folder_;
};

TEST_F(Findings, AreNamedWithTheirFilesInTheOrderOfSteps) {
  const std::vector<SuiteStep> steps{
      step("b", {{"good", Status::ok}, {"off", Status::wrong}}),
      step("a", {{"refused", Status::unsupported}, {"worse", Status::wrong}})};
  const std::vector<WrongRow> wrong = wrong_rows(steps);
  ASSERT_EQ(wrong.size(), 2U);
  EXPECT_TRUE(wrong[0].file.ends_with("b.jsonl"));
  EXPECT_EQ(wrong[0].key, "conv layer=off");
  EXPECT_EQ(wrong[0].reason, "since off");
  EXPECT_TRUE(wrong[1].file.ends_with("a.jsonl"));
  EXPECT_EQ(conclude(wrong), ExitCode::wrong_result);
  EXPECT_EQ(conclude({}), ExitCode::ok);
}

TEST_F(Findings, OfAFileThatTwoStepsNameCountOnce) {
  const SuiteStep once = step("one", {{"off", Status::wrong}});
  EXPECT_EQ(wrong_rows(std::vector{once, once}).size(), 1U);
}

TEST_F(Findings, ExplainAnExitCodeOnlyWhereRowsDo) {
  const SuiteStep wrong = step("wrong", {{"good", Status::ok}, {"off", Status::wrong}});
  const SuiteStep right = step("right", {{"good", Status::ok}});
  const SuiteStep refused = step("refused", {{"gone", Status::unsupported}});
  EXPECT_TRUE(told_by_rows(wrong, ExitCode::wrong_result));
  EXPECT_FALSE(told_by_rows(right, ExitCode::wrong_result)) << "a crash";
  EXPECT_TRUE(told_by_rows(refused, ExitCode::nothing_measured));
  EXPECT_FALSE(told_by_rows(step("empty", {}), ExitCode::nothing_measured));
  EXPECT_FALSE(told_by_rows(wrong, ExitCode::bad_input));
}

TEST_F(Findings, OfAStepThatDidNotFinishExplainNothing) {
  const SuiteStep lost = step("lost", {{"off", Status::wrong}}, End::missing);
  EXPECT_FALSE(told_by_rows(lost, ExitCode::wrong_result));
  EXPECT_TRUE(wrong_rows(std::span(&lost, 1)).empty());
}

TEST_F(Findings, AreLookedForInResultsAlone) {
  std::ofstream(folder_.path() / "page.html") << "no results\n";
  SuiteStep report;
  report.words = {"report", "-o", (folder_.path() / "page.html").string()};
  report.outputs = outputs_of(report);
  EXPECT_TRUE(wrong_rows(std::span(&report, 1)).empty());
  SuiteStep measures;
  measures.words = {"bench", "conv", "-o", (folder_.path() / "not_there.jsonl").string()};
  measures.outputs = outputs_of(measures);
  EXPECT_FALSE(told_by_rows(measures, ExitCode::wrong_result));
}

}  // namespace
}  // namespace dlscale::suite
