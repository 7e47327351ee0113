#include "core/shown_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace dlscale {
namespace {

TEST(ShownText, IsOneLine) {
  EXPECT_EQ(shown_text("a word"), "a word");
  EXPECT_EQ(shown_text("a\nb\tc\x01\x7f"), "a\\nb\\tc\\x01\\x7f");
  EXPECT_EQ(shown_text(""), "");
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
