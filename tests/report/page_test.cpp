#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "report/format/text_width.hpp"
#include "report/sections/report.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

constexpr const char* page_svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>\n";

TEST(EscapeHtml, LeavesNoMarkup) {
  EXPECT_EQ(format::escape_markup("<b a='1'>\"&"), "&lt;b a=&#39;1&#39;&gt;&quot;&amp;");
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
  for (const char* id :
       {"verdict", "steps", "validation", "speedup", "machine", "environment", "warnings", "raw"}) {
    const std::size_t found = page.find("<section id=\"" + std::string(id) + "\"");
    ASSERT_NE(found, std::string::npos) << id;
    EXPECT_GT(found, at);
    at = found;
  }
}

TEST(Html, PutsFiguresWhereTheyBelong) {
  const Figures figures{{"phases", "Title of it", "Alt text", page_svg, "figures/phases.svg"}};
  const std::string page = html(samples::report_input(), figures);
  EXPECT_TRUE(contains(page, "<figcaption>Title of it</figcaption>"));
  EXPECT_TRUE(contains(page, "<svg role=\"img\" aria-label=\"Alt text\" xmlns"));
  EXPECT_TRUE(contains(markdown(samples::report_input(), figures).front().text,
                       "![Alt text](<figures/phases.svg>)"));
}

TEST(Html, CanDoWithoutCurvesAndWithADataSheetMachine) {
  ReportInput input = samples::report_input();
  input.curves.clear();
  input.machine = {};
  const std::string page = html(input, {});
  EXPECT_TRUE(contains(page, "estimates with wide intervals, and no bounds"));
  EXPECT_FALSE(contains(page, "lower bound"));
}

TEST(ReportFigures, HaveAPlaceOnTheirPageAndAFile) {
  for (const ReportInput& input : {samples::report_input(), samples::parts_input()}) {
    const Figures figures = report_figures(input);
    const std::string page = html(input, figures);
    EXPECT_GE(figures.size(), 2U);
    for (const Figure& figure : figures) {
      EXPECT_TRUE(contains(page, figure.title)) << figure.name;
      const std::vector<std::string> files = figure_files();
      EXPECT_EQ(std::ranges::count(files, figure.file.string()), 1) << figure.name;
    }
  }
}

}  // namespace
}  // namespace dlscale::report
