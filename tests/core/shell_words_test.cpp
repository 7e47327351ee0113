#include "core/text/shell_words.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace dlscale {
namespace {

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

}  // namespace
}  // namespace dlscale
