#pragma once
#include <string>
#include <string_view>

#include "report/table/table.hpp"

namespace dlscale::report {

/// The class attribute of a heading, cell or word, with a leading blank. Empty for plain
/// left-aligned text, since pages have a hundred thousand cells.
std::string class_of(Align align, Tone tone);

/// A table with caption and scoped headings, in a box that scrolls if it is too wide, and notes
/// below.
std::string html_table(const Table& table);

/// The text of report/page/style.css.
std::string_view style_sheet();

/// The text of report/page/script.js, which makes tables sortable and filterable. The hash is its
/// digest as in a Content Security Policy: "sha256-…". The page is readable without the script.
std::string_view page_script();
std::string_view page_script_hash();

}  // namespace dlscale::report
