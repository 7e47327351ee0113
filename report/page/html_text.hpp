#pragma once
#include <string>
#include <string_view>

#include "report/table.hpp"

namespace dlscale::report {

/// Text that HTML shows as it is, in an element or in a quoted attribute.
std::string escape_html(std::string_view text);

/// A table with caption and scoped headings, in a box that scrolls if it is too wide; notes below.
std::string html_table(const Table& table);

}  // namespace dlscale::report
