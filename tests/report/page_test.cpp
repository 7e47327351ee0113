#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "report/page/html_text.hpp"
#include "report/page/svg_text.hpp"
#include "report/process.hpp"
#include "report/report.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

constexpr const char* svg =
    "<?xml version=\"1.0\"?>\n<!DOCTYPE svg PUBLIC \"x\" \"http://www.w3.org/x.dtd\">\n"
    "<svg xmlns=\"http://www.w3.org/2000/svg\"><metadata><a href=\"http://x\"/></metadata>"
    "<!-- note --><clipPath id=\"p1\"/><g clip-path=\"url(#p1)\"><use href=\"#p1\"/></g></svg>\n";

TEST(InlineSvg, DropsPrologMetadataAndComments) {
  const std::string text = inline_svg(svg, "a", "alt");
  EXPECT_TRUE(text.starts_with("<svg role=\"img\" aria-label=\"alt\""));
  for (const char* part : {"<?xml", "DOCTYPE", "metadata", "note", "http://x"}) {
    EXPECT_FALSE(contains(text, part)) << part;
  }
}

TEST(InlineSvg, PrefixesIdsAndWhatRefersToThem) {
  const std::string text = inline_svg(svg, "phases", "alt");
  EXPECT_TRUE(contains(text, "id=\"phases-p1\""));
  EXPECT_TRUE(contains(text, "url(#phases-p1)"));
  EXPECT_TRUE(contains(text, "href=\"#phases-p1\""));
}

TEST(InlineSvg, RefusesWhatActsOrReachesOutside) {
  for (const char* part : {"<script>x</script>", "<g onload=\"x\"/>",
                           "<use href=\"http://x/y.svg\"/>", "<g style=\"fill:url(http://x)\"/>"}) {
    EXPECT_THROW(static_cast<void>(inline_svg("<svg>" + std::string(part) + "</svg>", "a", "b")),
                 ConfigError)
        << part;
  }
  EXPECT_THROW(static_cast<void>(inline_svg("PNG", "a", "b")), ConfigError);
}

TEST(EscapeHtml, LeavesNoMarkup) {
  EXPECT_EQ(escape_html("<b a='1'>\"&"), "&lt;b a=&#39;1&#39;&gt;&quot;&amp;");
}

TEST(Html, EscapesHostileNames) {
  ReportInput input = samples::report_input();
  const std::string name = "<script>alert(1)</script>";
  input.validation.runs.front().run.network = name;
  input.curves.front().front().run.network = name;
  input.machine.cluster.name = name;
  input.results.front().header.environment.cpu = name;
  input.results.front().header.command = {name};
  input.validation.notes = {name};
  const std::string page = html(input, {});
  EXPECT_EQ(page.find("<script"), page.rfind("<script"));  // the page's own
  EXPECT_TRUE(contains(page, "&lt;script&gt;alert(1)"));
  EXPECT_FALSE(contains(markdown(input, {}).front().text, "<script"));
}

TEST(Html, HasEverySectionAndTheVerdictFirst) {
  const std::string page = html(samples::report_input(), {});
  std::size_t at = 0;
  for (const char* id : {"verdict", "steps", "validation", "speedup", "bounds", "machine",
                         "environment", "warnings", "raw"}) {
    const std::size_t found = page.find("<section id=\"" + std::string(id) + "\"");
    ASSERT_NE(found, std::string::npos) << id;
    EXPECT_GT(found, at);
    at = found;
  }
}

TEST(Html, SaysWhyThereAreNoFigures) {
  Figures figures;
  figures.troubles = {"no matplotlib: apt install python3-matplotlib"};
  EXPECT_TRUE(contains(html(samples::report_input(), figures), "apt install python3-matplotlib"));
  EXPECT_TRUE(contains(markdown(samples::report_input(), figures).front().text,
                       "apt install python3-matplotlib"));
}

TEST(Html, PutsFiguresWhereTheyBelong) {
  Figures figures;
  figures.drawn = {{"phases", "Title of it", "Alt text", svg, "figures/phases.svg"}};
  const std::string page = html(samples::report_input(), figures);
  EXPECT_TRUE(contains(page, "<figcaption>Title of it</figcaption>"));
  EXPECT_TRUE(contains(page, "aria-label=\"Alt text\""));
  EXPECT_TRUE(contains(markdown(samples::report_input(), figures).front().text,
                       "![Alt text](<figures/phases.svg>)"));
}

TEST(Html, GivesAdviceOnWhatBounds) {
  const std::string page = html(samples::report_input(), {});
  EXPECT_TRUE(contains(page, "alexnet: compute at 1, 2, 4, 8 ranks; communication at 16, 32, 64"));
  EXPECT_TRUE(contains(page, "Bound by communication: A larger batch"));
  EXPECT_FALSE(contains(page, "Bound by input:"));
}

TEST(Html, CanDoWithoutCurvesAndWithADataSheetMachine) {
  ReportInput input = samples::report_input();
  input.curves.clear();
  input.machine = {};
  const std::string page = html(input, {});
  EXPECT_TRUE(contains(page, "estimates with wide intervals, and no bounds"));
  EXPECT_FALSE(contains(page, "lower bound"));
  EXPECT_TRUE(contains(page, "No prediction beyond the runs measured."));
}

TEST(Process, GivesStatusAndOutput) {
  const Finished finished = run_process({"sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(finished.status, 3);
  EXPECT_EQ(finished.output, "out\nerr\n");
  EXPECT_EQ(run_process({"/nowhere/program"}).status, 127);
  EXPECT_EQ(run_process({"sh", "-c", "kill -9 $$"}).status, 128 + 9);
}

class RunPlots : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    unsetenv("DLSCALE_PLOTS");
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    unsetenv("DLSCALE_PLOTS");
  }
  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "dlscale_run_plots";
};

TEST_F(RunPlots, TellsOfScriptsThatFailAndOfAMissingFolderInsteadOfThrowing) {
  setenv("DLSCALE_PLOTS", folder_.c_str(), 1);
  const Figures own = run_plots(samples::report_input(), folder_ / "out");
  EXPECT_TRUE(
      std::ranges::none_of(own.drawn, [](const Figure& each) { return each.name == "phases"; }));
  EXPECT_FALSE(own.drawn.empty());
  ASSERT_FALSE(own.troubles.empty());
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out" / "validation.json"));
}

TEST_F(RunPlots, RefusesAFolderThatCannotBeMade) {
  std::ofstream(folder_) << "a file";
  EXPECT_THROW(static_cast<void>(run_plots(samples::report_input(), folder_ / "out")), ConfigError);
}

TEST_F(RunPlots, DrawsAllFiguresWhereThereIsMatplotlib) {
  const Figures figures = run_plots(samples::report_input(), folder_);
  if (!figures.troubles.empty() && contains(figures.troubles.front(), "matplotlib")) {
    GTEST_SKIP() << figures.troubles.front();
  }
  EXPECT_TRUE(figures.troubles.empty()) << figures.troubles.front();
  ASSERT_EQ(figures.drawn.size(), 5U);
  for (const Figure& figure : figures.drawn) {
    EXPECT_TRUE(std::filesystem::exists(folder_ / figure.file)) << figure.name;
    EXPECT_TRUE(contains(html(samples::report_input(), figures), figure.title)) << figure.name;
  }
}

}  // namespace
}  // namespace dlscale::report
