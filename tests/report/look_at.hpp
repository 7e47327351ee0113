#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "report/page/page.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Whether a text has that part.
inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Whether a note of a table has that part.
inline bool says(const Table& table, const std::string& part) {
  return std::ranges::any_of(table.notes,
                             [&](const std::string& note) { return contains(note, part); });
}

inline bool has_column(const Table& table, const std::string& heading) {
  return std::ranges::find(table.columns, heading, &Column::heading) != table.columns.end();
}

/// The text in a row under the first column of that heading; a failure of the test where there is
/// none.
inline std::string cell(const Table& table, std::size_t row, const std::string& heading) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].heading == heading) return table.rows.at(row).at(i).text;
  }
  ADD_FAILURE() << "no column " << heading << " in " << table.title;
  return "";
}

/// The text of a page's index.html.
inline std::string html(const Page& page) {
  return html_files(page).front().text;
}

/// Rules of the first screen: three to five tiles, a picture with numbers, and a badge.
inline void expect_first_screen(const Page& page) {
  EXPECT_TRUE(page.question.ends_with("?")) << page.question;
  EXPECT_TRUE(page.verdict.ends_with(".")) << page.verdict;
  EXPECT_GE(page.tiles.size(), 3U);
  EXPECT_LE(page.tiles.size(), 5U);
  ASSERT_FALSE(page.figures.empty());
  EXPECT_EQ(page.picture, page.figures.front().name);
  for (const Figure& figure : page.figures) EXPECT_FALSE(figure.data.rows.empty()) << figure.name;
  ASSERT_TRUE(page.data);
  EXPECT_FALSE(page.sections.empty());
}

}  // namespace dlscale::report
