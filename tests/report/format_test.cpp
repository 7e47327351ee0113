#include "report/format/format.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/base/display_width.hpp"
#include "core/base/error.hpp"
#include "report/format/file_kind.hpp"
#include "report/format/markdown.hpp"
#include "report/format/text_width.hpp"
#include "tests/report/look_at.hpp"

namespace dlscale::report::format {
namespace {

Document sample() {
  Document document;
  document.lead = "All is well";
  document.tables = {{"Times ± error",
                      {{"name", Align::left}, {"ms"}},
                      {{{"short"}, {"1.5"}}, {{"a | longer <name>"}, {"120", Tone::bad}}},
                      {"a note"}}};
  document.records = {"", {{"name"}, {"t_s"}}, {{{"a, \"b\""}, {"0.5"}}}, {}};
  document.json = std::string(R"({"schema": "dlscale.sample", "version": 1})");
  return document;
}

std::string write(std::string_view name, const Terminal& terminal = {}) {
  return find_format(name).write(sample(), terminal);
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) result.push_back(line);
  return result;
}

TEST(Formats, AreFoundByName) {
  for (const char* name : {"table", "markdown", "csv", "json"}) {
    EXPECT_EQ(find_format(name).name, name);
  }
}

TEST(Formats, UnknownOnesAreRefusedWithTheNamesThereAre) {
  try {
    static_cast<void>(find_format("xml"));
    FAIL() << "nothing was refused";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("table, markdown, csv, json"), std::string::npos);
  }
}

TEST(TableFormat, WrapsTheLead) {
  Document document = sample();
  document.lead = "One";
  for (int i = 0; i < 60; ++i) document.lead += " word";
  const std::vector<std::string> text = lines(find_format("table").write(document, {}));
  EXPECT_TRUE(text.at(0).starts_with("One word"));
  EXPECT_TRUE(text.at(1).starts_with("word"));
  for (const std::string& line : text) EXPECT_LE(line.size(), 100U) << line;
}

TEST(TableFormat, AlignsColumns) {
  const std::vector<std::string> text = lines(write("table"));
  EXPECT_NE(std::ranges::find(text, "short              1.5"), text.end());
  EXPECT_NE(std::ranges::find(text, "a | longer <name>  120"), text.end());
}

TEST(TableFormat, KeepsLinesWithin100Columns) {
  const std::string wide(60, 'w');
  Document document;
  document.tables = {{wide + " " + wide,
                      {{"kept"}, {wide}, {"rarer"}},
                      {{{"1"}, {"2"}, {std::string(45, 'r')}}, {{"3"}, {"4"}, {"5"}}},
                      {wide + " and " + wide}}};
  document.tables.front().columns[1].spare = 1;
  document.tables.front().columns[2].spare = 2;
  const std::vector<std::string> text = lines(find_format("table").write(document, {}));
  for (const std::string& line : text) EXPECT_LE(display_width(line), 100) << line;
  EXPECT_NE(std::ranges::find(text, "kept  " + wide), text.end());
  EXPECT_NE(
      std::ranges::find(text, "  left out for their width: rarer (the format markdown has them)"),
      text.end());
  EXPECT_NE(std::ranges::find(text, "  " + wide + " and"), text.end());
  EXPECT_NE(std::ranges::find(text, "    " + wide), text.end());
  EXPECT_TRUE(contains(find_format("markdown").write(document, {}), "rarer"));
}

TEST(TableFormat, FoldsColumnsThatDoNotFit) {
  Document document;
  Table& table = document.tables.emplace_back();
  table.columns = {{"ranks"}, {"batch"}};
  table.rows = {{{"1"}, {"8"}}, {{"1"}, {"16"}}};
  for (int i = 0; i < 8; ++i) {
    table.columns.push_back({fmt::format("column-{}-{}", i, std::string(18, 'w'))});
    table.columns.push_back({"÷ first"});
    for (auto& row : table.rows) row.insert(row.end(), {{"12.5 ms"}, {"1.00"}});
  }
  const std::vector<std::string> text = lines(find_format("table").write(document, {}));
  for (const std::string& line : text) EXPECT_LE(display_width(line), 100U) << line;
  const auto is_heading = [](const std::string& line) {
    return line.starts_with("ranks  batch  ");
  };
  ASSERT_EQ(std::ranges::count_if(text, is_heading), 4) << "both columns name each row";
  for (const std::string& line : text) {
    if (is_heading(line)) EXPECT_TRUE(line.ends_with("÷ first")) << line;
  }
}

TEST(TableFormat, ShowsTheFirstRowsOfALongTableAndSaysHowManyThereAre) {
  Document document;
  Table long_table{"Rows", {{"row"}}, {}, {"a note"}, 3};
  Table list{"Lines", {}, {}, {}, 3};
  for (int i = 0; i < 2000; ++i) {
    long_table.rows.push_back({{fmt::format("{} ms", i)}});
    list.notes.push_back(fmt::format("line {}", i));
  }
  document.tables = {long_table, list};
  const std::string text = find_format("table").write(document, {});
  EXPECT_TRUE(contains(text,
                       "2 ms\n  3 of 2,000 rows are shown; the format markdown has all\n"
                       "  a note\n"))
      << text;
  EXPECT_TRUE(contains(text, "line 2\n  3 of 2,000 lines are shown; ")) << text;
  EXPECT_FALSE(contains(text, "3 ms")) << text;
  document.tables.front().shown = {0, 1999};
  EXPECT_TRUE(contains(find_format("table").write(document, {}),
                       "   0 ms\n1999 ms\n  2 of 2,000 rows are shown; "));
  const std::string markdown = find_format("markdown").write(document, {});
  EXPECT_TRUE(contains(markdown, "1000 ms")) << "named by the format table";
  EXPECT_TRUE(contains(markdown, "line 1999"));
}

TEST(TableFormat, EndsWithWhatToDoNext) {
  Document document = sample();
  document.next = {{"See it:", "dlscale report a -o page"}, {"Measure again.", ""}};
  const std::string text = find_format("table").write(document, {});
  EXPECT_TRUE(
      text.ends_with("\n\nNext:\n  See it:\n    dlscale report a -o page\n  Measure again.\n"))
      << text;
  for (const char* name : {"csv", "json", "markdown"}) {
    EXPECT_FALSE(contains(find_format(name).write(document, {}), "Next:")) << name;
  }
}

TEST(TableFormat, BreaksCommandsOnlyBetweenWords) {
  Document document;
  document.next = {{"See it:", "dlscale gate --base 'a b  --c d' --new 'it'\\''s -x' --rounds 80"}};
  std::string text = find_format("table").write(document, {.width = 40});
  for (const std::string& line : lines(text)) EXPECT_LE(line.size(), 40U) << line;
  text = text.substr(text.find("dlscale"));
  std::string joined;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(" \\\n      ", at), text.size());
    joined += text.substr(at, end - at) + " ";
    at = end + 9;
  }
  EXPECT_EQ(joined, document.next.front().command + "\n ");
}

TEST(TableFormat, DrawsCurvesOnlyOnATerminalThatShowsThem) {
  Document document;
  document.curve = {"speed-up over GPUs", {{1, 1, 1}, {2, 1.9, 2}, {8, 4, 8}}};
  EXPECT_EQ(find_format("table").write(document, {}), "");
  const std::string text = find_format("table").write(document, {.draws = true});
  EXPECT_TRUE(contains(text, "speed-up over GPUs (dotted: ideal)\n"));
  const std::vector<std::string> drawn = lines(text);
  ASSERT_EQ(drawn.size(), 10U);  // with the empty line before it
  EXPECT_TRUE(drawn[2].starts_with("  8.00│"));
  EXPECT_TRUE(contains(drawn[2], "⠁") || drawn[2].size() > 40) << drawn[2];
  for (const std::string& line : drawn) EXPECT_LE(display_width(line), 48U) << line;
  document.curve.points.pop_back();
  EXPECT_EQ(find_format("table").write(document, {.draws = true}), "");
}

TEST(Terminal, DrawsNothingIntoAFile) {
  EXPECT_FALSE(detect_terminal(-1).draws);
}

TEST(TableFormat, HasNoEscapeSequencesUnlessColourIsWanted) {
  EXPECT_EQ(write("table").find('\033'), std::string::npos);
  const std::string coloured = write("table", {Colour::ansi, Charset::utf8});
  EXPECT_TRUE(contains(coloured, "\033[31m120\033[0m"));
}

TEST(TableFormat, CanDoWithAscii) {
  const std::string text = write("table", {Colour::none, Charset::ascii});
  EXPECT_TRUE(
      std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 128; }));
  EXPECT_TRUE(contains(text, "Times +- error"));
}

TEST(TableFormat, LetsNoNameDriveTheTerminal) {
  Document document;
  document.lead = "evil\033]0;title\007";
  EXPECT_EQ(find_format("table").write(document, {}).find('\033'), std::string::npos);
  for (const char* csi : {"\xc2\x9b", "\x9b", "\xe2\x80\xae"}) {
    document.lead = std::string("evil") + csi + "31m";
    for (const char* name : {"table", "markdown"}) {
      EXPECT_EQ(find_format(name).write(document, {}).find(csi), std::string::npos) << name;
    }
  }
}

TEST(MarkdownFormat, HasAsManyCellsInEveryRow) {
  std::vector<long> pipes;
  for (const std::string& line : lines(write("markdown"))) {
    if (!line.starts_with('|')) continue;
    long count = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      count += line[i] == '|' && (i == 0 || line[i - 1] != '\\') ? 1 : 0;
    }
    pipes.push_back(count);
  }
  EXPECT_EQ(pipes, std::vector<long>(4, 3));
}

TEST(MarkdownFormat, ShowsTextAsItIs) {
  EXPECT_EQ(escape_markdown("<script>a|b</script>"), "&lt;script>a\\|b&lt;/script>");
  EXPECT_EQ(escape_markdown("wait_free"), "wait_free");
  EXPECT_EQ(escape_markdown("_x_ *y* [z](u) `w`"), "\\_x\\_ \\*y\\* \\[z\\](u) \\`w\\`");
  EXPECT_EQ(escape_markdown("two\nlines"), "two lines");
}

TEST(CsvFormat, QuotesByRfc4180) {
  EXPECT_EQ(write("csv"), "name,t_s\n\"a, \"\"b\"\"\",0.5\n");
}

TEST(CsvFormat, HasNoFormulasAndNoControlCharacters) {
  for (const auto& [name, cell] : std::vector<std::pair<std::string, std::string>>{
           {"=cmd|'/c calc'!A0", "'=cmd|'/c calc'!A0"},
           {"=HYPERLINK(\"http://a\",\"b\")", "\"'=HYPERLINK(\"\"http://a\"\",\"\"b\"\")\""},
           {"+1+1", "'+1+1"},
           {"-2+3", "'-2+3"},
           {"@SUM(A1)", "'@SUM(A1)"},
           {"\t=1+1", "' =1+1"},
           {"\r@x", "' @x"},
           {"＝1+1", "'＝1+1"},
           {"-1.5e-3", "-1.5e-3"},
           {"-inf", "-inf"},
           {"a=1", "a=1"},
           {"a\x1b[31m\xc2\x9bz", "a [31m z"}}) {
    Document document;
    document.records.columns = {{"name"}};
    document.records.rows = {{{name}}};
    EXPECT_EQ(find_format("csv").write(document, {}), "name\n" + cell + "\n");
  }
}

TEST(JsonFormat, EndsInOneNewline) {
  EXPECT_EQ(write("json"), sample().json() + "\n");
}

TEST(Terminal, HasNoColourWhereOutputIsNoTerminal) {
  EXPECT_EQ(detect_terminal(-1).colour, Colour::none);
}

TEST(Terminal, TakesTheCharsetFromTheLocale) {
  setenv("LC_ALL", "C", 1);
  EXPECT_EQ(detect_terminal(1).charset, Charset::ascii);
  setenv("LC_ALL", "C.UTF-8", 1);
  EXPECT_EQ(detect_terminal(1).charset, Charset::utf8);
  unsetenv("LC_ALL");
}

bool is_sample(const std::string& text) {
  std::istringstream content(text);
  return is_of_kind(content, sample());
}

/// Those that take any document; machine_formats_test.cpp has the others.
std::vector<const Format*> formats_of_any_document() {
  std::vector<const Format*> result;
  for (const char* name : {"table", "markdown", "csv", "json"})
    result.push_back(&find_format(name));
  return result;
}

TEST(FileKind, IsKnownFromAFileInAnyFormat) {
  for (const Format* format : formats_of_any_document()) {
    EXPECT_TRUE(is_sample(file_text(*format, sample()))) << format->name;
  }
  EXPECT_TRUE(is_sample("{ \"schema\":\"dlscale.sample\", \"version\": 7}"));
}

TEST(FileKind, IsNotThatOfAnotherDocument) {
  Document other = sample();
  other.json = std::string(R"({"schema": "dlscale.sample_of_another", "version": 1})");
  other.records.columns = {{"name"}, {"t_s"}, {"more"}};
  for (const Format* format : formats_of_any_document()) {
    EXPECT_FALSE(is_sample(file_text(*format, other))) << format->name;
  }
}

TEST(FileKind, IsNotThatOfATextThatQuotesOne) {
  for (const Format* format : formats_of_any_document()) {
    EXPECT_FALSE(is_sample("Thesis\n" + file_text(*format, sample()) + "End\n")) << format->name;
  }
  EXPECT_FALSE(is_sample("{"));
  EXPECT_FALSE(is_sample("name"));
}

}  // namespace
}  // namespace dlscale::report::format
