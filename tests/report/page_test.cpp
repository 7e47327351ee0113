#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "report/figure/figures.hpp"
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
  const std::string page = html(report_page(input));
  EXPECT_EQ(page.find("<script"), page.rfind("<script"));  // the page's own
  EXPECT_TRUE(contains(page, "&lt;script&gt;alert(1)"));
  EXPECT_FALSE(contains(markdown(report_page(input)).front().text, "<script"));
}

TEST(Html, HasTheAnswerBeforeThePictureAndFoldedSections) {
  const std::string page = html(report_page(samples::report_input()));
  std::size_t at = page.find("</style>");
  for (const char* part :
       {"<h1>How well is training on", "<section id=\"verdict\"", "<dl class=\"tiles\">",
        "<strong class=", "<figure>", "<details class=\"section\">", "<div id=\"errors\">",
        "<div id=\"validation\">", "<div id=\"speedup\">", "<div id=\"machine\">",
        "<div id=\"quality\">", "<div id=\"warnings\">", "<div id=\"environment\">",
        "<div id=\"raw\">"}) {
    const std::size_t found = page.find(part, at);
    ASSERT_NE(found, std::string::npos) << part;
    at = found;
  }
  EXPECT_GT(page.find("<table>"), page.find("<section id=\"verdict\""));
  EXPECT_FALSE(contains(page, "<details open"));
}

/// A page with one figure, which is the picture of the first screen if `first`.
Page with_figure(bool first) {
  Page page;
  page.kind = "sample";
  page.question = "Is it?";
  page.verdict = "It is.";
  page.figures = {{"phases", "Title of it", "Alt text", page_svg, "figures/phases.svg",
                   Table{"Numbers", {{"a"}}, {{{"1"}}}, {}}}};
  if (first) page.picture = "phases";
  page.sections = {{"more", "More", {FigureSlot{"phases"}}}};
  return page;
}

TEST(Html, PutsFiguresWhereTheyBelongOnceWithTheirNumbers) {
  for (const bool first : {true, false}) {
    const std::string page = html(with_figure(first));
    EXPECT_TRUE(contains(page, "<figcaption>Title of it</figcaption>\n<details class=\"data\">"));
    EXPECT_TRUE(contains(page, "<svg role=\"img\" aria-label=\"Alt text\" xmlns"));
    EXPECT_EQ(page.find("<figure>"), page.rfind("<figure>"));
    EXPECT_EQ(page.find("<figure>") < page.find("<details class=\"section\">"), first);
    const std::string text = markdown(with_figure(first)).front().text;
    EXPECT_TRUE(contains(text, "![Alt text](<figures/phases.svg>)"));
    EXPECT_EQ(text.find("![Alt"), text.rfind("![Alt"));
    EXPECT_TRUE(contains(text, "<summary>Numbers of this figure</summary>"));
  }
}

TEST(Html, EscapesCommandsAndKeepsThemOnOneLine) {
  Page page = with_figure(true);
  page.next = {{"Run:", "dlscale run '<b>\n```\n' | cat"}};
  EXPECT_TRUE(contains(html(page), ">dlscale run &#39;&lt;b&gt; ``` &#39; | cat</span></code>"));
  EXPECT_TRUE(contains(markdown(page).front().text, "```sh\ndlscale run '<b> ``` ' | cat\n```"));
}

TEST(Html, BreaksCommandsBeforeOptionsAndMarksWhatToReplace) {
  Page page = with_figure(true);
  page.next = {{"Compare:", "dlscale compare A B -o A.json --format json", {"A", "B"}}};
  const std::string text = html(page);
  const std::string word = "<var title=\"Replace this word\">";
  EXPECT_TRUE(
      contains(text, "<span class=\"option\">dlscale compare " + word + "A</var> " + word +
                         "B</var></span> <span class=\"option\">-o " + word +
                         "A</var>.json</span> <span class=\"option\">--format json</span>"));
  EXPECT_TRUE(contains(markdown(page).front().text, "\ndlscale compare A B -o A.json --format"));
  page.next = {{"Both:", "dlscale add && dlscale check"}};
  EXPECT_TRUE(
      contains(html(page), ">dlscale add</span> <span class=\"option\">&amp;&amp; dlscale"));
}

TEST(IsPageText, KnowsPagesOfThisVersionAndTheLast) {
  const Page page = with_figure(true);
  EXPECT_TRUE(is_page_text(html(page).substr(0, 2048)));
  EXPECT_TRUE(is_page_text(markdown(page).front().text));
  EXPECT_TRUE(is_page_text("# dlscale: gate, regressed\n"));
  EXPECT_FALSE(is_page_text("# Notes of mine\n"));
}

TEST(Html, CanDoWithoutCurvesAndWithADataSheetMachine) {
  ReportInput input = samples::report_input();
  input.curves.clear();
  input.machine = {};
  const std::string page = html(report_page(input));
  EXPECT_TRUE(contains(page, "estimates with wide intervals, and no bounds"));
  EXPECT_FALSE(contains(page, "lower bound"));
}

TEST(ReportFigures, HaveAPlaceOnTheirPageAFileAndNumbers) {
  for (const ReportInput& input : {samples::report_input(), samples::parts_input()}) {
    const Page report = report_page(input);
    const std::string page = html(report);
    EXPECT_GE(report.figures.size(), 2U);
    EXPECT_GE(report.tiles.size(), 3U);
    EXPECT_LE(report.tiles.size(), 5U);
    for (const Figure& figure : report.figures) {
      EXPECT_TRUE(contains(page, "<figcaption>" + figure.title)) << figure.name;
      EXPECT_FALSE(figure.data.rows.empty()) << figure.name;
      const std::vector<std::string> files = figure_files();
      EXPECT_EQ(std::ranges::count(files, figure.file.string()), 1) << figure.name;
    }
  }
}

}  // namespace
}  // namespace dlscale::report
