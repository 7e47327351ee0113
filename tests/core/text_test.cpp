#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "core/base/display_width.hpp"
#include "core/base/printable.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/name_pattern.hpp"
#include "core/text/near_words.hpp"
#include "core/text/shell_words.hpp"
#include "core/text/time_text.hpp"
#include "tests/core/support.hpp"

namespace dlscale {
namespace {

using test::expect_contains;

struct Shown {
  const char* text;
  std::size_t columns;
};

// Columns as the Unicode annexes 11 and 51 give them.
TEST(DisplayWidth, IsTheColumnsOfATerminal) {
  for (const Shown& each : std::initializer_list<Shown>{
           {"", 0},
           {"α = 1.5 µs", 10},
           {"é", 1},
           {"e\u0301", 1},         // a combining accent
           {"a\u200Bb\uFEFF", 2},  // of no width
           {"矩陣乘法", 8},
           {"行列積/256", 10},
           {"행렬곱", 6},
           {"\u1112\u1161\u11AB", 2},  // one syllable of three letters
           {"ｆｕｌｌ", 8},
           {"ﾊﾝｶｸ", 4},  // half-width
           {"🚀 fast", 7},
           {"👩‍🚀", 2},  // two emojis that a joiner makes one
           {"👍🏽", 2},     // with a tone of skin
           {"⚠", 1},
           {"⚠\uFE0F", 2},  // asked for as an emoji
           {"🇫🇷", 2},
           {"नमस्ते", 4},
           {"a\tb\x1b", 2},      // control characters
           {"\xff\xe4\xb8", 3},  // no UTF-8
       }) {
    EXPECT_EQ(display_width(each.text), each.columns) << each.text;
  }
}

TEST(DisplayWidth, BoundsATextThatIsCut) {
  for (const char* text :
       {"plain text", "矩陣乘法矩陣乘法", "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301",
        "👩‍🚀👩‍🚀👩‍🚀"}) {
    for (std::size_t most = 0; most <= 20; ++most) {
      const std::string cut = cut_to_width(text, most);
      EXPECT_LE(display_width(cut), most) << cut;
      EXPECT_EQ(cut == text, display_width(text) <= most) << cut;
    }
  }
  EXPECT_EQ(cut_to_width("矩陣乘法", 6), "矩陣…");
}

/// The work to compile a pattern grows faster than its size.
TEST(NamePattern, IsRefusedIfItIsLong) {
  EXPECT_TRUE(NamePattern("--only", std::string(4096, 'a')).is_in(std::string(4096, 'a')));
  test::expect_contains(
      test::config_error([] { NamePattern("--only", std::string(4097, '?')); }),
      "--only: a regular expression has at most 4096 bytes, and this one has 4097.");
}

TEST(NearWords, NamesAllThatBeginSoAndNoneWithOtherNumbers) {
  const std::vector<std::string> words{"h100_pcie", "h100_sxm", "h200_sxm",
                                       "a100_sxm4", "a30",      "resnet50"};
  using Words = std::vector<std::string>;
  EXPECT_EQ(near_words("H100", words), (Words{"h100_pcie", "h100_sxm"}));
  EXPECT_EQ(near_words("a100_", words), Words{"a100_sxm4"});
  EXPECT_EQ(near_words("A10", words), Words{});
  EXPECT_EQ(near_words("a40", words), Words{});
  EXPECT_EQ(near_words("resnet5O", words), Words{"resnet50"});
  EXPECT_EQ(near_words("resnte50", words), Words{"resnet50"});
  EXPECT_EQ(near_words("resnet101", words), Words{});
  const std::vector<std::string> keys{"ranks", "ranks_per_node", "nodes", "several_nodes"};
  EXPECT_EQ(near_words("rank", keys), Words{"ranks"});
  EXPECT_EQ(near_words("node", keys), Words{"nodes"});
  EXPECT_EQ(did_you_mean(near_words("h100", words)),
            "Did you mean \"h100_pcie\" or \"h100_sxm\"? ");
}

TEST(ParseTime, TakesWhatGitAndDatePrint) {
  constexpr std::int64_t noon = 1'769'857'200;  // 2026-01-31T11:00:00Z
  for (const std::string_view text : {"2026-01-31T12:00:00+01:00",
                                      "2026-01-31T12:00:00+0100",
                                      "2026-01-31 12:00:00 +0100",
                                      "2026-01-31 12:00:00+01:00",
                                      "Sat Jan 31 12:00:00 2026 +0100",
                                      "Sat, 31 Jan 2026 12:00:00 +0100",
                                      "Date:   Sat Jan 31 12:00:00 2026 +0100",
                                      "Sat Jan 31 11:00:00 UTC 2026",
                                      "Sat Jan 31 12:00:00 CET 2026",
                                      "Sat Jan 31 11:00:00 AM UTC 2026",
                                      "Sat 31 Jan 2026 11:00:00 AM UTC",
                                      "Sat, 31 Jan 2026 11:00:00 GMT",
                                      "@1769857200",
                                      "1769857200",
                                      "1769857200 +0100",
                                      "2026-01-31T11:00:00.123456Z",
                                      "2026-01-31T12:00:00,123456789+01:00",
                                      "2026-01-31 11:00:00 UTC",
                                      "2026-01-31t11:00:00z",
                                      "20260131T110000Z",
                                      "20260131T120000+0100",
                                      "2026-01-31T11:00Z",
                                      "2026-01-31 12:00 +0100"}) {
    EXPECT_EQ(parse_time(text, "--time"), noon) << text;
  }
  EXPECT_EQ(parse_time("Thu Jan 1 12:30:00 PM UTC 2026", "--time"),
            parse_time("2026-01-01T12:30:00Z", ""));
  EXPECT_EQ(parse_time("Thu Jan  1 12:30:00 AM UTC 2026", "--time"),
            parse_time("2026-01-01T00:30:00Z", ""));
  EXPECT_EQ(parse_since("2.weeks.ago", "--since", noon), noon - 14 * 86400);
  EXPECT_EQ(parse_since("2 weeks ago", "--since", noon), noon - 14 * 86400);
}

TEST(ParseTime, SaysWhatATimeLacks) {
  for (const auto& [text, why] :
       {std::pair("2026-01-31 12:00:00", "has no time zone"),
        std::pair("Sat Jan 31 12:00:00 2026", "has no time zone"),
        std::pair("Sat Jan 31 12:00:00 CST 2026", "names the zone CST"),
        std::pair("Jan 31 2026", "has no time of day"), std::pair("12:00:00 +0100", "has no date"),
        std::pair("Mon Feb 30 12:00:00 2026 +0000", "not a day of the calendar"),
        std::pair("soon", "is not a time"), std::pair("31/01/2026", "is not a time"),
        std::pair("", "is not a time"), std::pair("2026-01-31T12:00:00Z +0100", "is not a time"),
        std::pair("13:00:00 PM UTC 31 Jan 2026", "half a day"),
        std::pair("@99999999999999", "is not a time"), std::pair("2026", "has no date"),
        std::pair("2026-01-31T10:00:60Z", "has a 60"), std::pair("20260131T100060Z", "has a 60"),
        std::pair("Sat Jan 31 10:60:00 2026 +0100", "has a 60"),
        std::pair("1769857200000", "milliseconds since 1970 (in seconds 1769857200)"),
        std::pair("@1769857200000000", "microseconds"),
        std::pair("1769857200000000000", "nanoseconds")}) {
    expect_contains(test::config_error(
                        [&, word = std::string_view(text)] { (void)parse_time(word, "--time"); }),
                    why);
  }
}

TEST(ShellWords, LeaveWhatNoShellChanges) {
  EXPECT_EQ(shell_word("/opt/dlscale"), "/opt/dlscale");
  EXPECT_EQ(shell_word("--sizes=1,2:3+4@5%_"), "--sizes=1,2:3+4@5%_");
  EXPECT_EQ(shell_line(std::vector<std::string>{"dlscale", "bench", "comm"}), "dlscale bench comm");
  EXPECT_EQ(shell_line({}), "");
}

TEST(ShellWords, QuoteWhatAShellWouldChange) {
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("allreduce.{1,9}2"), "'allreduce.{1,9}2'");
  EXPECT_EQ(shell_word("a^b"), "'a^b'");
  EXPECT_EQ(shell_word("a!b"), "'a!b'");
  EXPECT_EQ(shell_word("=ls"), "'=ls'");
  EXPECT_EQ(shell_word("ä"), "'ä'");
}

/// What bash makes of a line: its words, a zero after each.
std::string read_by_bash(const std::string& line) {
  std::FILE* pipe = ::popen(("exec bash -c " + shell_word("printf '%s\\0' " + line)).c_str(), "r");
  std::string text;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  EXPECT_EQ(::pclose(pipe), 0) << line;
  return text;
}

TEST(ShellWords, AreReadBackByBash) {
  std::vector<std::string> words{"allreduce.{1,9}2",
                                 "{a..c}",
                                 "~",
                                 "a=~",
                                 "$HOME",
                                 "`id`",
                                 "a\nb",
                                 "\\",
                                 "*",
                                 "[a]",
                                 "#",
                                 "!!"};
  for (char c = 1; c < 127; ++c) {  // alone, within and in front
    words.emplace_back(1, c);
    words.push_back(std::string("a") + c + "b");
    words.push_back(c + std::string("b,c}"));
  }
  std::string expected;
  for (const std::string& word : words) expected += word + '\0';
  EXPECT_EQ(read_by_bash(shell_line(words)), expected);
}

TEST(ShownText, IsOneLine) {
  EXPECT_EQ(escape_for_terminal("a word"), "a word");
  EXPECT_EQ(escape_for_terminal("a\nb\tc\x01\x7f"), "a\\nb\\tc\\x01\\x7f");
  EXPECT_EQ(escape_for_terminal(""), "");
}

TEST(ShownText, HasNoControlCharactersOfUnicode) {
  EXPECT_EQ(escape_for_terminal("a\xc2\x85z"), "a\\u0085z");
  EXPECT_EQ(escape_for_terminal("\xc2\x80\xc2\x9f\xc2\xa0"), "\\u0080\\u009f\xc2\xa0");
  EXPECT_EQ(escape_for_terminal("\xe2\x80\xa8\xe2\x80\xae\xe2\x81\xa6"), "\\u2028\\u202e\\u2066");
  EXPECT_EQ(escape_for_terminal("… ä €"), "… ä €");
  EXPECT_EQ(escape_for_terminal("\xc2"), "\\xc2");
  EXPECT_EQ(escape_for_terminal("\x9b[31m"), "\\x9b[31m");
  EXPECT_TRUE(is_plain_line("… ä €"));
  EXPECT_FALSE(is_plain_line("a\xc2\x9bz"));
  EXPECT_FALSE(is_plain_line("a\nz"));
}

TEST(PrintableText, ShowsWhatActsOnATerminalOrDeceivesAsBlanks) {
  const std::vector<const char*> unsafe{
      "\x1b",              // ESC
      "\x7f",              // DEL
      "\xc2\x9b",          // U+009B, the 8-bit CSI
      "\xc2\x9d",          // U+009D, the 8-bit OSC
      "\xc2\xad",          // soft hyphen
      "\xd8\x9c",          // U+061C
      "\xe2\x80\x8b",      // zero-width space
      "\xe2\x80\x8d",      // zero-width joiner
      "\xe2\x80\x8f",      // right-to-left mark
      "\xe2\x80\xa9",      // paragraph separator
      "\xe2\x80\xae",      // right-to-left override
      "\xe2\x81\xa6",      // left-to-right isolate
      "\xe2\x81\xa3",      // invisible separator
      "\xef\xbb\xbf",      // byte order mark
      "\xf3\xa0\x81\x81",  // a tag
  };
  for (const std::string each : unsafe) {
    EXPECT_EQ(printable("a" + each + "z"), "a z");
    EXPECT_EQ(escape_unprintable(each).front(), '\\');
    EXPECT_FALSE(is_plain_line(each));
  }
}

TEST(WrappedText, BreaksAtBlanksAndWideWordsAfterCommas) {
  EXPECT_EQ(wrapped("one two three", 7, 2), "one two\n  three");
  EXPECT_EQ(wrapped("by data=2,tensor=4,zero=1: quick", 16, 0),
            "by\ndata=2,tensor=4,\nzero=1: quick");
  EXPECT_EQ(wrapped("a,bb,ccc", 4, 1), "a,\n bb,\n ccc");
  EXPECT_EQ(wrapped("a_word_without_one and", 6, 0), "a_word_without_one\nand");
  EXPECT_EQ(wrapped("12345678,9 x", 4, 0), "12345678,9\nx");
}

TEST(PrintableText, ReplacesWhatIsNoUtf8) {
  const std::string odd = "\xEF\xBF\xBD";
  EXPECT_EQ(printable("a\tb\né × 漢 😀 \u0600"), "a b é × 漢 😀 \u0600");
  EXPECT_EQ(printable("\xff"), odd);
  EXPECT_EQ(printable("\x9b"), odd);
  EXPECT_EQ(printable("\xc3"), odd);
  EXPECT_EQ(printable("\xc0\xaf"), odd + odd);
  EXPECT_EQ(printable("\xed\xa0\x80"), odd + odd + odd);  // a surrogate
  EXPECT_EQ(printable("\xef\xbf\xbf"), odd + odd + odd);  // U+FFFF
}

TEST(ShownText, IsCutBetweenCharacters) {
  EXPECT_EQ(escape_for_terminal(std::string(120, 'a')), std::string(120, 'a'));
  EXPECT_EQ(escape_for_terminal(std::string(121, 'a')), std::string(120, 'a') + "…");
  // ä has two bytes; the 120th byte is the first half of one.
  std::string text = std::string(119, 'a') + "ää";
  EXPECT_EQ(escape_for_terminal(text), std::string(119, 'a') + "…");
}

}  // namespace
}  // namespace dlscale
