#pragma once
#include <string>
#include <string_view>

#include "report/table/table.hpp"

namespace dlscale::report::format {

/// Escapes text for Markdown (CommonMark with tables), on one line.
std::string escape_markdown(std::string_view text);

/// A title in bold, a pipe table, and its notes as a list.
std::string markdown_table(const Table& table);

}  // namespace dlscale::report::format
