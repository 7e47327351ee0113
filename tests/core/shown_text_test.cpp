#include "core/text/shown_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace dlscale {
namespace {

TEST(ShownText, IsOneLine) {
  EXPECT_EQ(shown_text("a word"), "a word");
  EXPECT_EQ(shown_text("a\nb\tc\x01\x7f"), "a\\nb\\tc\\x01\\x7f");
  EXPECT_EQ(shown_text(""), "");
}

TEST(ShownText, HasNoControlCharactersOfUnicode) {
  EXPECT_EQ(shown_text("a\xc2\x85z"), "a\\u0085z");
  EXPECT_EQ(shown_text("\xc2\x80\xc2\x9f\xc2\xa0"), "\\u0080\\u009f\xc2\xa0");
  EXPECT_EQ(shown_text("\xe2\x80\xa8\xe2\x80\xae\xe2\x81\xa6"), "\\u2028\\u202e\\u2066");
  EXPECT_EQ(shown_text("… ä €"), "… ä €");
  EXPECT_EQ(shown_text("\xc2"), "\xc2");  // half a character is shown as it is
  EXPECT_EQ(shown_text("\xe2\x80"), "\xe2\x80");
  EXPECT_TRUE(is_plain_line("… ä €"));
  EXPECT_FALSE(is_plain_line("a\xc2\x9bz"));
  EXPECT_FALSE(is_plain_line("a\nz"));
}

TEST(ShownText, IsCutBetweenCharacters) {
  EXPECT_EQ(shown_text(std::string(120, 'a')), std::string(120, 'a'));
  EXPECT_EQ(shown_text(std::string(121, 'a')), std::string(120, 'a') + "…");
  // ä has two bytes; the 120th byte is the first half of one.
  std::string text = std::string(119, 'a') + "ää";
  EXPECT_EQ(shown_text(text), std::string(119, 'a') + "…");
}

}  // namespace
}  // namespace dlscale
