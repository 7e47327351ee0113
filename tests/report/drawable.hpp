#pragma once
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>

#include "report/figure/figure.hpp"
#include "tests/report/look_at.hpp"

namespace dlscale::report::figure {

/// How often a text has that part.
inline std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// Rules of every figure: it has no active part and no link, and each of its numbers is finite.
inline void expect_drawable(const std::optional<Figure>& figure) {
  ASSERT_TRUE(figure);
  EXPECT_TRUE(figure->svg.starts_with("<svg "));
  for (const char* active : {"<script", "<foreignObject", "href=", "url(", " onload="}) {
    EXPECT_FALSE(contains(figure->svg, active)) << figure->name << ": " << active;
  }
  EXPECT_FALSE(contains(figure->svg, "nan")) << figure->name;
  EXPECT_FALSE(contains(figure->svg, "inf ")) << figure->name;
  EXPECT_FALSE(contains(figure->svg, "\"inf")) << figure->name;
  EXPECT_TRUE(contains(figure->svg, "<title>")) << figure->name;
  EXPECT_GT(figure->alt.size(), 40U);
  EXPECT_EQ(figure->file, figure->name + ".svg");
  EXPECT_FALSE(figure->data.rows.empty()) << figure->name;
  for (const auto& row : figure->data.rows) {
    EXPECT_EQ(row.size(), figure->data.columns.size()) << figure->name;
  }
}

}  // namespace dlscale::report::figure
