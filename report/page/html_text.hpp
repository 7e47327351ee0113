#pragma once
#include <string>
#include <string_view>

#include "report/table/table.hpp"

namespace dlscale::report {

/// Text that HTML shows as it is, in an element or in a quoted attribute.
std::string escape_html(std::string_view text);

/// The attribute of a heading, cell or word, with a blank before it; empty for plain text to the
/// left, because pages have a hundred thousand cells.
std::string class_of(Align align, Tone tone);

/// A table with caption and scoped headings, in a box that scrolls if it is too wide; notes below.
std::string html_table(const Table& table);

}  // namespace dlscale::report
